import type { NodeReadings } from './node-reading.ts'

/**
 * The node whose state is the newest: it is ready, and its oldest waiting change is the youngest. `current` stays as long as
 * no other is newer. Undefined: no node answers.
 */
export function newestNode(
  readings: NodeReadings,
  current: string | undefined,
): string | undefined {
  let best: { readonly name: string; readonly age: number } | undefined
  for (const [name, { status, failure }] of readings) {
    if (status === undefined || failure !== undefined) continue
    const age = Number(status.waitingMs ?? 0) + (status.isReady === true ? 0 : NOT_READY_MS)
    const isNewer = best === undefined || age < best.age || (age === best.age && name === current)
    if (isNewer) best = { name, age }
  }
  return best?.name
}

/** A node that is not ready comes after all that are. */
const NOT_READY_MS = Number.MAX_SAFE_INTEGER / 2
