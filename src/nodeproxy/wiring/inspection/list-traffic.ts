import type { MessageInitShape } from '@bufbuild/protobuf'
import { compareText } from '../../../forwarding/compare-text.ts'
import type {
  BackendTrafficSchema,
  ServiceTrafficSchema,
  TrafficSchema,
} from '../../../inspection/generated/inspection_pb.ts'
import type { BackendTraffic, Mode, TrafficNumbers } from '../../../modes/mode.ts'
import type { Running } from '../engine/engine.ts'
import { isOfService } from './is-of-service.ts'

interface Sources extends Pick<Running, 'table'> {
  readonly mode: Pick<Mode, 'serviceTraffic'>
}

type ServiceMessage = MessageInitShape<typeof ServiceTrafficSchema>
type BackendMessage = MessageInitShape<typeof BackendTrafficSchema>
type TrafficMessage = MessageInitShape<typeof TrafficSchema>

/** The traffic of all Services that are forwarded and wanted, sorted by name; the counters are read once. */
export async function* listTraffic(
  now: Sources | undefined,
  service: string,
): AsyncGenerator<ServiceMessage> {
  if (now === undefined) return
  const isWanted = isOfService(service)
  const counters = now.mode.serviceTraffic
  const totals = await counters?.totals()
  const backends = await counters?.backends?.(isWanted)
  const services = new Set([...now.table.entries()].map((entry) => entry.service))
  for (const one of [...services].filter(isWanted).sort(compareText)) {
    yield {
      service: one,
      total: trafficMessage(totals?.get(one) ?? {}),
      backends: (backends?.get(one) ?? []).toSorted(compareBackends).map(backendMessage),
    }
  }
}

function compareBackends(a: BackendTraffic, b: BackendTraffic): number {
  return compareText(a.entry, b.entry) || compareText(a.ip, b.ip) || a.port - b.port
}

function backendMessage({ entry, ip, port, ...traffic }: BackendTraffic): BackendMessage {
  return { entry, ip, port, traffic: trafficMessage(traffic) }
}

function trafficMessage(numbers: TrafficNumbers): TrafficMessage {
  return Object.fromEntries(
    Object.entries(numbers).map(([name, count]) => [name, BigInt(count)] as const),
  )
}
