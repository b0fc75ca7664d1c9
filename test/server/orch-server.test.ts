import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type ApiClient, createApiClient } from '../../src/client/http/api-client.ts'
import type { ApiResult } from '../../src/client/http/failure.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { arrayAt, type JsonObject, stringAt } from '../../src/lib/json.ts'
import { startEtcd } from '../support/etcd/etcd-process.ts'
import { hasEtcd } from '../support/etcd/has-etcd.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

const DEFAULT = '/api/v1/namespaces/default'
const SERVICES = `${DEFAULT}/services`
const SPEC = { ports: [{ port: 80 }] }
const SERVICE = { metadata: { name: 'web' }, spec: SPEC }

function clientOf({ connection }: OrchServerProcess): ApiClient & AsyncDisposable {
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  return { ...client, [Symbol.asyncDispose]: () => client.close() }
}

/** Whether `/readyz` is 200; it is not where nobody listens. */
async function isReady(url: string): Promise<boolean> {
  const sent = get(`${url}/readyz`, { rejectUnauthorized: false, agent: false })
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode === 200
  } catch {
    return false
  }
}

function valueOf(result: ApiResult<unknown>): unknown {
  if (result.ok) return result.value
  throw new Error(`${result.failure.code}: ${result.failure.message}`)
}

it('keeps over HTTPS what it acknowledged, also when it is killed, and closes its store', async () => {
  await using server = await startOrchServer()
  expect(server.kubeconfig).toBe(join(server.dataDir, 'admin.kubeconfig'))
  await using client = clientOf(server)
  const made = valueOf(await client.create(SERVICES, SERVICE))
  await server.kill()

  await server.start()
  expect(valueOf(await client.get(`${SERVICES}/web`))).toEqual(made)
  expect(await server.stop()).toBe(0)
  const left = readdirSync(server.dataDir)
  expect(left).not.toContain('store.sqlite-wal')
  expect(left).not.toContain('server.sock')
})

it('is ready only once its kubeconfig is there', async () => {
  await using server = await startOrchServer()
  expect(await server.stop()).toBe(0)
  rmSync(server.kubeconfig)
  const starting = server.start()
  await expect.poll(() => isReady(server.url), { interval: 1 }).toBe(true)
  expect(existsSync(server.kubeconfig)).toBe(true)
  await starting
})

it('ends when its store can only be opened anew', async () => {
  await using server = await startOrchServer()
  await using client = clientOf(server)
  rmSync(join(server.dataDir, 'store.sqlite'))
  expect((await client.create(SERVICES, SERVICE)).ok).toBe(false)
  expect(await server.ended()).toBe(1)
})

it.runIf(hasEtcd())('shares it with another server on one etcd', async () => {
  await using etcd = await startEtcd()
  const flags = [`--etcd-servers=${etcd.endpoint}`, '--etcd-prefix=/orch']
  await using one = await startOrchServer({ flags })
  await using other = await startOrchServer({ flags })
  await using client = clientOf(one)
  await using reader = clientOf(other)
  const made = valueOf(await client.create(SERVICES, SERVICE))
  expect(valueOf(await reader.get(`${SERVICES}/web`))).toEqual(made)
})

it('runs controllers beside the API, those that are configured', async () => {
  const flags = ['--controllers=*,-endpoints', '--load-balancer-pool=192.0.2.7-192.0.2.9']
  await using server = await startOrchServer({ flags })
  await using client = clientOf(server)
  const spec = { ...SPEC, type: 'LoadBalancer', selector: { app: 'web' } }
  valueOf(await client.create(SERVICES, { ...SERVICE, spec }))
  const ip = await soon(client, SERVICES, (service) =>
    stringAt(arrayAt(service, 'status', 'loadBalancer', 'ingress')[0], 'ip'),
  )
  expect(ip).toBe('192.0.2.7')
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
  const owner = await soon(client, slices, (slice) => stringAt(slice, 'metadata', 'generateName'))
  expect(owner).toBe('web-')
  expect((await client.get(`${DEFAULT}/endpoints/web`)).ok).toBe(false)
})

/** The first text that `look` finds in an object of the collection, which may have to come yet. */
async function soon(client: ApiClient, path: string, look: (object: JsonObject) => string) {
  for (;;) {
    const { items } = valueOf(await client.get(path)) as { items: readonly JsonObject[] }
    const found = items.map(look).find((text) => text !== '')
    if (found !== undefined) return found
  }
}
