import { expect } from 'vitest'
import { proxyMode } from '../lab/daemon-config.ts'
import type { Lab } from '../lab/lab.ts'
import type { LabFlow } from './lab-flow.ts'
import { type Memory, newMemory, runFlow } from './replay.ts'
import { inUserspace } from './userspace-flow.ts'

export type FlowSpec = Omit<LabFlow, 'name' | 'proto'> & { readonly proto?: LabFlow['proto'] }

/**
 * Sends packets and asserts their outcomes. Flows with the same memory are predicted from one reading of the node's
 * kernel, which takes most of the time of a flow; nothing in the kernel may change between them.
 */
export async function expectFlow(
  lab: Lab,
  spec: FlowSpec,
  memory: Memory = newMemory(),
): Promise<void> {
  const given: LabFlow = { name: '', proto: 'TCP', ...spec }
  const flow = proxyMode() === 'userspace' ? inUserspace(given) : given
  const faults = await runFlow(lab, flow, memory)
  const { from, src, proto, dst, dport } = flow
  expect(faults, `${from} ${src} → ${dst} ${dport}/${proto}`).toEqual([])
}
