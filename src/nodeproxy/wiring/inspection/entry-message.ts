import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Backend, ForwardingEntry, Frontend } from '../../../forwarding/entry.ts'
import type {
  BackendSchema,
  EntrySchema,
  FrontendSchema,
} from '../../../inspection/generated/inspection_pb.ts'
import { backendMessage } from '../../explanation/backend-message.ts'

/** An entry in the words of the inspection service. */
export function entryMessage(
  entry: ForwardingEntry,
  status: string,
): MessageInitShape<typeof EntrySchema> {
  const { id, service, protocol, family, affinity, scheduler } = entry
  return {
    ...{ id, service, protocol, family, status },
    frontends: entry.frontends.map(frontendMessage),
    backends: backendMessages(entry),
    affinitySeconds: affinity?.seconds ?? 0,
    scheduler: scheduler ?? '',
  }
}

/** Backends of both pools and those that drain, each once, with the pools that have it. */
function backendMessages(entry: ForwardingEntry): MessageInitShape<typeof BackendSchema>[] {
  const { pools, draining } = entry
  const nameOf = ({ ip, port }: Backend) => `${ip} ${port}`
  const [cluster, local] = [pools.cluster, pools.local].map((pool) => new Set(pool.map(nameOf)))
  const all = new Map([...pools.cluster, ...pools.local].map((one) => [nameOf(one), one]))
  const active = [...all].map(([name, one]) => ({
    ...backendMessage(one),
    inClusterPool: cluster?.has(name) === true,
    inLocalPool: local?.has(name) === true,
  }))
  return [
    ...active,
    ...draining.map((one) => ({ ...backendMessage(one), drainingUntil: BigInt(one.until) })),
  ]
}

function frontendMessage(frontend: Frontend): MessageInitShape<typeof FrontendSchema> {
  const { kind, ip, port, pool, shortCircuit, masquerade, sourceRanges } = frontend
  return {
    ...{ kind, ip, port, pool, shortCircuit, masquerade },
    sourceRanges: [...(sourceRanges ?? [])],
    admitsAll: sourceRanges === undefined,
  }
}
