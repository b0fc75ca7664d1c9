import type { ForwardingEntry, Frontend, Pool } from '../../src/forwarding/entry.ts'
import type { HealthCheck } from '../../src/forwarding/health-check.ts'
import { ip } from '../../src/forwarding/testing/fixtures.ts'
import { cidrContains, familyOf, hostPort } from '../../src/lib/ip.ts'
import type { Flow } from './flow-file.ts'
import type { NodeSide } from './node-side.ts'

export interface FlowVerdict {
  readonly outcome: Flow['expect']['outcome']
  readonly endpoints: readonly string[]
  /** One value per endpoint. */
  readonly masquerade: readonly boolean[]
}

/** What the kernel would do with a packet if it held exactly these entries. */
export function interpret(
  flow: Flow,
  entries: readonly ForwardingEntry[],
  checks: readonly HealthCheck[],
  node: NodeSide,
): FlowVerdict {
  const dst = ip(flow.dst)
  const hits = entries
    .filter((entry) => entry.protocol === flow.proto && entry.family === familyOf(dst))
    .flatMap((entry) => entry.frontends.map((frontend) => ({ entry, frontend })))
    .filter(({ frontend }) => frontend.port === flow.dport)
  const hit =
    hits.find(({ frontend }) => frontend.ip === dst) ??
    hits.find(({ frontend }) => frontend.ip === 'node' && node.servesNodePorts(dst))
  if (hit !== undefined) return forward(flow, hit.entry, hit.frontend, node)
  const check = checks.some(({ port }) => port === flow.dport) && node.servesNodePorts(dst)
  return { outcome: check ? 'accept' : 'unhandled', endpoints: [], masquerade: [] }
}

function forward(
  flow: Flow,
  entry: ForwardingEntry,
  frontend: Frontend,
  node: NodeSide,
): FlowVerdict {
  const src = ip(flow.src)
  const isAdmitted = frontend.sourceRanges?.some((range) => cidrContains(range, src)) ?? true
  if (!isAdmitted) return { outcome: 'drop', endpoints: [], masquerade: [] }
  // An address bound on the node is the node's, even when no list knows it.
  const origin = flow.src === flow.dst ? 'node' : node.originOf(src)
  const pool: Pool = frontend.shortCircuit && origin !== 'outside' ? 'cluster' : frontend.pool
  const backends = entry.pools[pool]
  if (backends.length === 0) {
    return { outcome: entry.whenEmpty[pool], endpoints: [], masquerade: [] }
  }
  const byRule = {
    always: true,
    onNode: origin === 'node',
    offCluster: origin !== 'pod' || node.masqueradeAll,
  }[frontend.masquerade]
  return {
    outcome: 'deliver',
    endpoints: backends.map((backend) => hostPort(backend.ip, backend.port)),
    masquerade: backends.map((backend) => byRule || backend.ip === src),
  }
}
