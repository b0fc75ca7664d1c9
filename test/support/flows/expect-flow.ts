import { expect } from 'vitest'
import { proxyMode } from '../lab/daemon-config.ts'
import type { Lab } from '../lab/lab.ts'
import type { LabFlow } from './lab-flow.ts'
import { newMemory, runFlow } from './replay.ts'
import { inUserspace } from './userspace-flow.ts'

export type FlowSpec = Omit<LabFlow, 'name' | 'proto'> & { readonly proto?: LabFlow['proto'] }

/** Sends packets and asserts what becomes of them. */
export async function expectFlow(lab: Lab, spec: FlowSpec): Promise<void> {
  const given: LabFlow = { name: '', proto: 'TCP', ...spec }
  const flow = proxyMode() === 'userspace' ? inUserspace(given) : given
  const faults = await runFlow(lab, flow, newMemory())
  const { from, src, proto, dst, dport } = flow
  expect(faults, `${from} ${src} → ${dst} ${dport}/${proto}`).toEqual([])
}
