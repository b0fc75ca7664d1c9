import { ifPresent } from '../netfilter/if-present.ts'
import type { ManagedState } from './managed-state.ts'

/**
 * Removes every trace of this mode in the kernel, of its earlier runs too: first what leads
 * packets here, then the sets that those rules name, then the translation of connections to
 * ports at which no process listens. After a failure the other steps still run, and the first error
 * is thrown in the end. The forwarder belongs to its opener and stays.
 */
export async function cleanUp({
  redirect,
  forwarderState,
  conntrack,
}: ManagedState): Promise<void> {
  if (redirect === undefined) return
  const { chains, policyRoutes, sets } = redirect
  const problems: unknown[] = []
  const attempt = (work: () => Promise<void>) =>
    ifPresent(work).catch((error: unknown) => problems.push(error))
  const ports = new Set(forwarderState?.forwarder.ownPorts)
  await attempt(async () => {
    for (const port of await redirect.redirectPorts()) ports.add(port)
  })
  for (const part of [chains, policyRoutes, sets]) await attempt(() => part.removeAll())
  await attempt(async () => {
    if (ports.size > 0) await conntrack?.cutTranslatedTo(ports, ['TCP', 'UDP'])
  })
  if (problems.length > 0) throw problems[0]
}
