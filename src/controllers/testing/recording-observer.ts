import type { RunnerObserver } from '../runner/observer.ts'

/** Writes down what it is told, as words: `wrote endpoints create done`. */
export function createRecordingObserver(): RunnerObserver & { readonly told: string[] } {
  const told: string[] = []
  return {
    told,
    depth: () => undefined,
    reconciled: () => undefined,
    retried: (controller) => void told.push(`retried ${controller}`),
    wrote: (controller, verb, result) => void told.push(`wrote ${controller} ${verb} ${result}`),
    problem: ({ controller, errorCode }) => void told.push(`problem ${controller} ${errorCode}`),
    healed: (controller, code) => void told.push(`healed ${controller} ${code}`),
  }
}
