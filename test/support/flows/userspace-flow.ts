import type { LabFlow } from './lab-flow.ts'

/**
 * What is declared to be otherwise in userspace mode: backends see the node, and SCTP
 * is left alone, because sockets of this process forward.
 */
export function inUserspace(flow: LabFlow): LabFlow {
  const { expect } = flow
  if (flow.proto === 'SCTP') return { ...flow, expect: { outcome: 'unhandled' } }
  if (expect.outcome !== 'deliver' || expect.masquerade === undefined) return flow
  return { ...flow, expect: { ...expect, masquerade: true } }
}
