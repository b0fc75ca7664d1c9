import type { ObjectKey } from '../mode.ts'
import { ifPresent } from '../netfilter/if-present.ts'
import { cleanUp } from './clean-up.ts'
import type { ManagedState } from './managed-state.ts'

/**
 * Leaves the node to another mode that serves already. It gets all new connections once the sets are
 * empty. Established ones still come to the forwarder, by their connmark and their translation in
 * conntrack, until they end or the drain time is over. Conntrack records of UDP flows would last as
 * long as their clients send, so they are deleted at once. Then everything is removed.
 */
export async function drainAndCleanup(state: ManagedState, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await emptySets(state)
  const { forwarderState, conntrack } = state
  if (forwarderState) {
    const { ownPorts } = forwarderState.forwarder
    const drained = forwarderState.forwarder.drain(signal)
    await conntrack?.cutTranslatedTo(ownPorts, ['UDP'])
    await drained
  }
  if (!signal.aborted) await cleanUp(state)
}

async function emptySets({ redirect }: ManagedState): Promise<void> {
  if (redirect === undefined) return
  const { sets } = redirect
  await ifPresent(async () => {
    await sets.observe()
    const [services, others] = [true, false].map((isService) =>
      sets.keys().filter((key) => isOfServices(key) === isService),
    )
    await sets.delete([...(services ?? []), ...(others ?? [])])
  })
}

function isOfServices(key: ObjectKey): boolean {
  return key.includes('-SERVICES/')
}
