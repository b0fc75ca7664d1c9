import { ifPresent } from '../netfilter/if-present.ts'
import type { Estate } from './estate.ts'

/**
 * Removes every trace of this mode in the kernel, of its earlier runs too: first what leads
 * packets here, then the sets that those rules name. What cannot be removed holds up nothing
 * else. The forwarder belongs to whoever opened it.
 */
export async function cleanUp({ redirect }: Estate): Promise<void> {
  if (redirect === undefined) return
  const { chains, routes, sets } = redirect
  const problems: unknown[] = []
  for (const work of [chains, routes, sets].map((part) => () => part.removeAll())) {
    await ifPresent(work).catch((error: unknown) => problems.push(error))
  }
  if (problems.length > 0) throw problems[0]
}
