import type { LabFlow } from './lab-flow.ts'

/**
 * A flow with what differs in userspace mode, as declared: backends see the node, and SCTP is not forwarded, because
 * sockets of the daemon forward.
 */
export function inUserspace(flow: LabFlow): LabFlow {
  const { expect } = flow
  if (flow.proto === 'SCTP') return { ...flow, expect: { outcome: 'unhandled' } }
  if (expect.outcome !== 'deliver' || expect.masquerade === undefined) return flow
  return { ...flow, expect: { ...expect, masquerade: true } }
}
