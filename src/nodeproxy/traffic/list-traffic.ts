import type { MessageInitShape } from '@bufbuild/protobuf'
import { compareText } from '../../forwarding/entry.ts'
import type {
  BackendTrafficSchema,
  ServiceTrafficSchema,
  TrafficSchema,
} from '../../inspection/generated/inspection_pb.ts'
import type { BackendTraffic, TrafficNumbers } from '../../modes/mode.ts'
import type { Running } from '../engine/engine.ts'
import { isOfService, type TrafficCounters } from './traffic-counters.ts'

interface Sources {
  /** Undefined until the cluster is listed. */
  readonly table?: Running['table']
  readonly read: TrafficCounters['read']
}

type ServiceMessage = MessageInitShape<typeof ServiceTrafficSchema>
type BackendMessage = MessageInitShape<typeof BackendTrafficSchema>
type TrafficMessage = MessageInitShape<typeof TrafficSchema>

/** The traffic of all Services that are forwarded and wanted, sorted by name; the counters are read once. */
export async function* listTraffic(
  { table, read }: Sources,
  service: string,
): AsyncGenerator<ServiceMessage> {
  if (table === undefined) return
  const reading = await read(service)
  const services = new Set([...table.entries()].map((entry) => entry.service))
  for (const one of [...services].filter(isOfService(service)).sort(compareText)) {
    const backends = reading?.backends.get(one) ?? []
    yield {
      service: one,
      total: trafficMessage(withConnectionsNow(reading?.totals.get(one) ?? {}, backends)),
      backends: backends.toSorted(compareBackends).map(backendMessage),
    }
  }
}

/** Adds the present connections of all backends to the total, if the mode counts them for each backend. */
function withConnectionsNow(
  total: TrafficNumbers,
  backends: readonly BackendTraffic[],
): TrafficNumbers {
  const counts = backends.flatMap(({ connectionsNow = [] }) => connectionsNow)
  if (counts.length === 0 || counts.length < backends.length) return total
  return { ...total, connectionsNow: counts.reduce((sum, count) => sum + count, 0) }
}

function compareBackends(a: BackendTraffic, b: BackendTraffic): number {
  return compareText(a.entry, b.entry) || compareText(a.ip, b.ip) || a.port - b.port
}

function backendMessage({ entry, ip, port, ...traffic }: BackendTraffic): BackendMessage {
  return { entry, ip, port, traffic: trafficMessage(traffic) }
}

function trafficMessage(numbers: TrafficNumbers): TrafficMessage {
  const counted = Object.entries<number | undefined>({ ...numbers })
  return Object.fromEntries(
    counted.flatMap(([name, count]) => (count === undefined ? [] : [[name, BigInt(count)]])),
  )
}
