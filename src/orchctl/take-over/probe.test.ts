import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { createProbes, type NodeProbe, type ProbeRequests } from './probe.ts'

const NODE = { status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] } }

interface Port {
  readonly port: number
  readonly sockets: Socket[]
  readonly server: Server
}

/** A node port of this machine. */
async function listen(): Promise<Port> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    sockets.push(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets, server }
}

function service(name: string, nodePort: number, externalTrafficPolicy = 'Cluster'): JsonObject {
  const ports = [
    { protocol: 'UDP', nodePort: 1 },
    { protocol: 'TCP', nodePort },
  ]
  return { metadata: { namespace: 'shop', name }, spec: { externalTrafficPolicy, ports } }
}

/** A server with Services, whose names in `ready` have endpoints; of the given version of EndpointSlices. */
function requestsOf(
  services: readonly JsonObject[],
  ready: ReadonlySet<string>,
  version = 'v1',
): ProbeRequests {
  return {
    get: async (path) => (path.endsWith(`/${version}`) ? {} : undefined),
    list: async (path, query) => {
      if (path === '/api/v1/services') return services
      const isKnown = path === `/apis/discovery.k8s.io/${version}/namespaces/shop/endpointslices`
      if (!isKnown) throw new Error(`no ${path}`)
      const name = (query?.['labelSelector'] ?? '').replace('kubernetes.io/service-name=', '')
      return [{ endpoints: [{ conditions: { ready: ready.has(name) } }] }]
    },
  }
}

/** A probe of the node whose clock passes a second with each look. */
async function probeOf(requests: ProbeRequests, notices: string[] = []) {
  let now = 0
  const clock = { now: () => now, after: () => () => undefined }
  const notice = (line: string): void => void notices.push(line)
  const start = createProbes({ requests, clock, notice, everyMs: 1_000 })
  const probe = await start(NODE)
  onTestFinished(() => probe?.close())
  const look = (): Promise<string | undefined> => {
    now += 1_000
    return (probe as NodeProbe).look()
  }
  return { probe, look }
}

test('three new connections in a row that fail are worse, fewer are counted', async () => {
  const { port, server, sockets } = await listen()
  const { probe, look } = await probeOf(requestsOf([service('web', port)], new Set(['web'])))
  expect(await look()).toBeUndefined()
  server.close()
  for (const socket of sockets) socket.destroy()
  expect([await look(), await look(), await look()]).toEqual([
    undefined,
    undefined,
    `3 new connections in a row to 127.0.0.1:${port} of Service shop/web failed: ECONNREFUSED`,
  ])
  expect(probe?.counts()).toEqual({ attempts: 4, failed: 3, held: 1, reset: 0 })
})

test('a Service that has lost its endpoints is no fault of the node', async () => {
  const { port, server } = await listen()
  const ready = new Set(['web'])
  const notices: string[] = []
  const { probe, look } = await probeOf(requestsOf([service('web', port)], ready), notices)
  server.close()
  ready.clear()
  expect([await look(), await look(), await look(), await look()]).toEqual(
    Array.from({ length: 4 }, () => undefined),
  )
  expect(notices).toEqual(['Service shop/web has no ready endpoint any more: not probed'])
  expect(probe?.counts()).toMatchObject({ attempts: 3, failed: 3 })
})

test('what is not served beforehand, or only by some nodes, is not probed', async () => {
  const { port, server } = await listen()
  const { port: other } = await listen()
  server.close()
  await once(server, 'close')
  const services = [service('dead', port), service('local', other, 'Local'), service('un', other)]
  const { probe } = await probeOf(requestsOf(services, new Set(['dead', 'local'])))
  expect(probe).toBeUndefined()
})

test('a held connection that is reset is counted, one that the server ends is not', async () => {
  const [first, second] = [await listen(), await listen()]
  const services = [service('a', first.port), service('b', second.port)]
  const { probe, look } = await probeOf(requestsOf(services, new Set(['a', 'b']), 'v1beta1'))
  await look()
  first.sockets[0]?.resetAndDestroy()
  second.sockets[0]?.end()
  await expect.poll(() => probe?.counts()).toEqual({ attempts: 2, failed: 0, held: 2, reset: 1 })
})
