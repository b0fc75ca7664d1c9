import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../../src/lib/json.ts'
import { NODE_ADDRESS, type PodCluster, startPodCluster } from './pod-cluster.ts'

let cluster: PodCluster
let web: string
let other: string

beforeAll(async () => {
  cluster = await startPodCluster([`--dns-address=${NODE_ADDRESS}:53`])
  for (const name of ['shop', 'test']) {
    await cluster.make('/api/v1/namespaces', { metadata: { name } })
  }
  const app = (name: string) => ({ selector: { app: name }, ports: [{ name: 'http', port: 8080 }] })
  const services: readonly (readonly [string, string, JsonObject])[] = [
    ['shop', 'web', { ...app('web'), clusterIP: '10.96.0.80' }],
    ['shop', 'db', { ...app('db'), clusterIP: 'None' }],
    ['test', 'web', { ...app('web'), clusterIP: '10.96.0.81' }],
    ['shop', 'alias', { type: 'ExternalName', externalName: 'web.test.svc.cluster.local' }],
  ]
  for (const [namespace, name, spec] of services) {
    await cluster.make(`/api/v1/namespaces/${namespace}/services`, { metadata: { name }, spec })
  }
  web = await cluster.runPod('shop', 'web')
  other = await cluster.runPod('test', 'other')
}, 120_000)
afterAll(() => cluster.close())

async function found(pod: string, name: string): Promise<unknown> {
  return (await cluster.fromPod(pod, `/getent/${name}`))['addresses']
}

describe('libc in a Pod', () => {
  test.each([
    ['web', ['10.96.0.80']],
    ['web.shop', ['10.96.0.80']],
    ['web.test', ['10.96.0.81']],
    ['web.shop.svc', ['10.96.0.80']],
    ['web.shop.svc.cluster.local', ['10.96.0.80']],
    ['WEB.Shop', ['10.96.0.80']],
    ['alias', ['10.96.0.81']],
    ['orch.default.svc', ['10.96.0.2']],
    ['kubernetes.default', ['10.96.0.1']],
    ['lost', []],
    ['web.nowhere', []],
    ['example.com', []],
  ])('of shop finds %s', async (name, addresses) => {
    expect(await found(web, name)).toEqual(addresses)
  })

  test('of another namespace finds its own Service by the short name', async () => {
    expect(await found(other, 'web')).toEqual(['10.96.0.81'])
    expect(await found(other, 'web.shop')).toEqual(['10.96.0.80'])
  })
})

describe('resolv.conf', () => {
  async function fileOf(pod: string): Promise<unknown> {
    return (await cluster.fromPod(pod, '/resolv.conf'))['text']
  }

  test('names the server and the domains of the namespace', async () => {
    expect(await fileOf(web)).toMatch(
      new RegExp(
        `^nameserver ${NODE_ADDRESS}\nsearch shop.svc.cluster.local svc.cluster.local cluster.local.*\noptions ndots:5\n$`,
      ),
    )
    expect(await fileOf(other)).toContain('\nsearch test.svc.cluster.local svc.cluster.local')
  })

  test('follows dnsPolicy and dnsConfig', async () => {
    const dnsConfig = { nameservers: ['192.0.2.53'], options: [{ name: 'timeout', value: '1' }] }
    const own = await cluster.runPod('shop', 'own', { dnsPolicy: 'None', dnsConfig })
    expect(await fileOf(own)).toBe('nameserver 192.0.2.53\noptions timeout:1\n')
  })
})
