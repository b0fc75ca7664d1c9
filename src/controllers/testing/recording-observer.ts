import type { RunnerObserver } from '../runner/observer.ts'

/** Records the reports of the runner as text: `wrote endpoints create done`. */
export function createRecordingObserver(): RunnerObserver & { readonly records: string[] } {
  const records: string[] = []
  return {
    records,
    depth: () => undefined,
    reconciled: () => undefined,
    retried: (controller) => void records.push(`retried ${controller}`),
    wrote: (controller, verb, result) => void records.push(`wrote ${controller} ${verb} ${result}`),
    problem: ({ controller, errorCode }) => void records.push(`problem ${controller} ${errorCode}`),
    healed: (controller, code) => void records.push(`healed ${controller} ${code}`),
  }
}
