import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type JsonObject, stringAt } from '../lib/json.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { createMemoryStore } from '../storage/memory-store.ts'
import { ALLOCATIONS } from './allocation/allocation-keys.ts'
import { createApiServer } from './api-server.ts'
import { POD, PODS, postTo, SERVICES, service, startApi } from './testing/test-api.ts'

test('discovery names every resource, its verbs and its status', async () => {
  const api = await startApi()
  expect((await api.call('GET', '/api')).body).toMatchObject({
    kind: 'APIVersions',
    versions: ['v1'],
  })
  const groups = (await api.call('GET', '/apis')).body['groups']
  const slicesGroup = {
    name: 'discovery.k8s.io',
    versions: [
      { groupVersion: 'discovery.k8s.io/v1', version: 'v1' },
      { groupVersion: 'discovery.k8s.io/v1beta1', version: 'v1beta1' },
    ],
    preferredVersion: { groupVersion: 'discovery.k8s.io/v1', version: 'v1' },
  }
  expect(groups).toContainEqual(expect.objectContaining(slicesGroup))
  expect((await api.call('GET', '/apis/discovery.k8s.io')).body['kind']).toBe('APIGroup')
  const core = (await api.call('GET', '/api/v1')).body
  const names = (core['resources'] as JsonObject[]).map((resource) => resource['name'])
  expect(names).toEqual(expect.arrayContaining(['endpoints', 'services', 'services/status']))
  expect(names).not.toContain('endpoints/status')
  const slices = (await api.call('GET', '/apis/discovery.k8s.io/v1beta1')).body
  expect(slices).toMatchObject({ kind: 'APIResourceList', resources: [{ name: 'endpointslices' }] })
})

test.each(['/healthz', '/livez', '/readyz'])('%s is ok', async (path) => {
  const api = await startApi()
  const answer = await api.call('GET', path)
  expect([answer.status, answer.text]).toEqual([200, 'ok'])
})

test('/version is a version', async () => {
  const api = await startApi()
  expect((await api.call('GET', '/version')).body).toMatchObject({ major: '1', platform: 'linux' })
})

test('the default namespace exists', async () => {
  const api = await startApi()
  const { body } = await api.call('GET', '/api/v1/namespaces/default')
  expect(body).toMatchObject({ kind: 'Namespace', status: { phase: 'Active' } })
})

test('two servers on one store show each other their writes and never share an address', async () => {
  const store = createMemoryStore()
  const servers = [createApiServer({ store }), createApiServer({ store })]
  const listening = await Promise.all(servers.map((server) => server.listen()))
  onTestFinished(async () => {
    for (const server of servers) await server.close()
  })
  const ips = new Set<string>()
  for (let index = 0; index < 20; index++) {
    const { url } = listening[index % 2]!
    const made = await postTo(`${url}${SERVICES}`, service(`s${index}`))
    ips.add(stringAt(made, 'spec', 'clusterIP'))
  }
  expect(ips.size).toBe(20)
  for (const { url } of listening) {
    const list = (await (await fetch(`${url}${SERVICES}`)).json()) as { items: unknown[] }
    expect(list.items).toHaveLength(20)
  }
})

test('a server that starts on a filled store serves watches from before its start', async () => {
  const store = createMemoryStore()
  const first = createApiServer({ store })
  const { url } = await first.listen()
  const made = await postTo(`${url}${PODS}`, { metadata: { name: 'a' }, spec: POD })
  const version = stringAt(made, 'metadata', 'resourceVersion')
  await fetch(`${url}${PODS}/a`, { method: 'DELETE' })
  await first.close()
  const second = createApiServer({ store })
  const again = await second.listen()
  onTestFinished(() => second.close())
  const query = `watch=1&resourceVersion=${version}&timeoutSeconds=1`
  const text = await (await fetch(`${again.url}${PODS}?${query}`)).text()
  expect(text).toMatch(/^\{"type":"DELETED"/)
})

test('it serves HTTPS when given a certificate', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'apiserver-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '1',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'ignore' },
  )
  const tls = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  const store = createMemoryStore()
  const server = createApiServer({ store })
  onTestFinished(() => server.close())
  const { url } = await server.listen({ tls })
  expect(url).toMatch(/^https:/)
  const status = await new Promise((resolve, reject) => {
    get(`${url}/healthz`, { ca: tls.cert, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on('error', reject)
  })
  expect(status).toBe(200)
})

test('a taken port is an error with a remedy', async () => {
  const api = await startApi()
  const server = createApiServer({ store: createMemoryStore() })
  onTestFinished(() => server.close())
  await expect(server.listen({ port: api.port })).rejects.toMatchObject({
    code: 'NP_APISERVER_LISTEN',
  })
})

test('a server that is closed while it starts does nothing regularly afterwards', async () => {
  const [clock, store] = [new FakeClock(), createMemoryStore()]
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const server = createApiServer({
    clock,
    store: {
      ...store,
      async list(query) {
        if (query.prefix === `/${ALLOCATIONS}/`) {
          reached.resolve()
          await released.promise
        }
        return store.list(query)
      },
    },
  })
  const listening = server.listen()
  await reached.promise
  await server.close()
  released.resolve()
  await listening
  expect(clock.pending()).toEqual([])
})
