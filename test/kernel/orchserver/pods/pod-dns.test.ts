import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../../src/lib/json.ts'
import type { Resolution } from '../../../../src/orchctl/resolve/resolution.ts'
import { launcherOf } from '../../../support/programs.ts'
import { startKubectl } from './kubectl-run.ts'
import { NODE_ADDRESS, type PodCluster, startPodCluster } from './pod-cluster.ts'

const ORCHCTL = launcherOf('orchctl')

let cluster: PodCluster
let web: string
let other: string

beforeAll(async () => {
  // Orchctl queries from the machine itself, whose network is a public one.
  const networks = '--dns-client-networks=10.0.0.0/8,192.0.2.0/24'
  cluster = await startPodCluster([`--dns-address=${NODE_ADDRESS}:53`, networks])
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
})
afterAll(() => cluster.close())

async function found(pod: string, name: string): Promise<unknown> {
  return (await cluster.fromPod(pod, `/getent/${name}`))['addresses']
}

/** What orchctl says of the first Pod: from the objects, and beside the DNS server itself. */
async function explained(name: string): Promise<Resolution> {
  const words = ['resolve', name, '--from=pod/web', '-n=shop', `--dns-server=${NODE_ADDRESS}`]
  const { stdout } = await startKubectl(cluster, ORCHCTL, [...words, '-o=json']).said()
  return JSON.parse(stdout) as Resolution
}

/** The addresses at which the search ended. */
function addressesOf({ candidates, resolved }: Resolution): readonly string[] {
  const answers = candidates.find(({ name }) => name === resolved)?.answers ?? []
  return answers
    .flatMap(({ records }) => records)
    .filter(({ type }) => type === 'A')
    .map(({ data }) => data)
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
  ])('of shop finds %s, as orchctl explains', async (name, addresses) => {
    expect(await found(web, name)).toEqual(addresses)
    const resolution = await explained(name)
    expect(addressesOf(resolution)).toEqual(addresses)
    const replies = resolution.candidates.flatMap(({ answers }) => answers.map((one) => one.server))
    expect(replies.filter((reply) => reply?.difference !== '')).toEqual([])
  })

  test('finds the Pods of a headless Service, as orchctl explains', async () => {
    const pod = await cluster.runPod('shop', 'db-0')
    await startKubectl(cluster, ORCHCTL, ['label', 'pod/db-0', 'app=db', '-n=shop']).ended
    await expect.poll(() => found(web, 'db')).toEqual([pod])
    const resolution = await explained('db')
    expect(addressesOf(resolution)).toEqual([pod])
    const [first] = resolution.candidates[0]?.answers[0]?.records ?? []
    expect(first?.origin).toMatchObject({ kind: 'EndpointSlice', pod: 'shop/db-0' })
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
