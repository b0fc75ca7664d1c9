import { setImmediate } from 'node:timers/promises'

/** The longest time between two yields. */
const MAX_STEP_MS = 5

/**
 * Runs `steps` to their return value, and yields to the event loop whenever they have run for 5 ms.
 * Rejects with what a step throws.
 */
export async function yieldToEventLoop<T>(steps: Iterator<unknown, T>): Promise<T> {
  let began = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() - began < MAX_STEP_MS) continue
    await setImmediate()
    began = performance.now()
  }
}
