import { setImmediate } from 'node:timers/promises'

/** As long as one may keep others of this process waiting. */
const BREATH_MS = 5

/** Takes steps to the result they lead to; between some of them others have their turn. */
export async function inBreaths<T>(steps: Iterator<unknown, T>): Promise<T> {
  let began = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() - began < BREATH_MS) continue
    await setImmediate()
    began = performance.now()
  }
}
