import type { EntryId, ServiceKey } from '../../../src/forwarding/entry.ts'
import type { IpAddress } from '../../../src/lib/ip.ts'
import type { DataPath, ForwarderLimits } from '../../../src/modes/userspace/forwarder.ts'
import { openForwarder } from '../../../src/modes/userspace/pool/open-forwarder.ts'
import type { Route } from '../../../src/modes/userspace/route.ts'
import type { Endpoint, ProxySetup } from './subject.ts'

/** A process with the data path of the userspace mode and one route, until it is killed. */
const { dataPath, workers, listen, backend, descriptors } = JSON.parse(
  process.argv[2] ?? '',
) as Task
const forwarder = await openForwarder({
  dataPath,
  workers,
  listening: 'bound',
  families: [4],
  mark: 0,
  limits: limits(descriptors),
  onLost(error) {
    throw error
  },
})
if (forwarder.dataPath !== dataPath) fail(`there is no data path ${dataPath}`)
const route = routeOf(listen, backend)
for (const [, refusal] of await forwarder.apply(new Map([[route.id, route]]))) fail(refusal.message)
setInterval(() => forwarder.counts(), 60_000)

interface Task extends ProxySetup {
  readonly dataPath: DataPath
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

/** Workers do not get equal shares, so the limit of each is the total number of connections. */
function limits(connections: number): ForwarderLimits {
  return {
    connections,
    perClient: connections,
    connectMs: 1_000,
    retryMs: 5_000,
    attempts: 3,
    idleMs: 0,
    udpIdleMs: 60_000,
    drainMs: 10_000,
    affinityClients: 1_000,
  }
}

function routeOf(listening: Endpoint, target: Endpoint): Route {
  const listener = { ip: listening.ip as IpAddress, port: listening.port, sourceRanges: undefined }
  const cluster = [{ ip: target.ip as IpAddress, port: target.port, weight: 1, local: false }]
  return {
    id: 'bench/echo:plain/TCP/4' as EntryId,
    service: 'bench/echo' as ServiceKey,
    protocol: 'TCP',
    family: 4,
    balancing: 'rr',
    listeners: [{ ...listener, pools: { pods: 'cluster', others: 'cluster' } }],
    pools: { cluster, local: [] },
    affinity: undefined,
    proxyProtocol: undefined,
  }
}
