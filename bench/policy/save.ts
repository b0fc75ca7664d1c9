import { machineFacts } from '../measure/machine.ts'
import { readResults, saveResults } from '../report/files.ts'
import type { PolicyResults } from '../report/policy/results.ts'
import { policySection } from '../report/policy/section.ts'

/** When and where something is measured. */
export function conditions() {
  return { startedAt: new Date().toISOString().slice(0, 10), machine: machineFacts() }
}

/** Saves one part beside the others, and prints its table. */
export function savePart(into: string, part: PolicyResults): void {
  saveResults(into, 'policy', { ...readResults(into, 'policy'), ...part })
  process.stdout.write(policySection(part))
}
