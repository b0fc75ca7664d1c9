import type { Expectation } from '../../../explain/comparison/expectation.ts'
import type { ExplainResponse } from '../../../inspection/generated/inspection_pb.ts'
import type { IpAddress } from '../../../lib/ip.ts'

/** What a node-proxy wants, as outcomes are compared with it. */
export function expectationOf(desired: ExplainResponse): Expectation {
  const { outcome, entry, backends, masquerade, hasAffinity, ownPorts } = desired
  return {
    outcome: outcome as Expectation['outcome'],
    isUnclaimed: entry === '',
    backends: backends.map(({ ip, port, weight }) => ({ ip: ip as IpAddress, port, weight })),
    masquerade: masquerade === '' ? undefined : (masquerade as Expectation['masquerade']),
    ...{ hasAffinity, ownPorts: new Set(ownPorts) },
  }
}
