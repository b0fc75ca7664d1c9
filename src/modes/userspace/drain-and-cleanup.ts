import type { ObjectKey } from '../mode.ts'
import { ifPresent } from '../netfilter/if-present.ts'
import { cleanUp } from './clean-up.ts'
import type { ManagedState } from './managed-state.ts'

/**
 * Another mode serves. New connections are its own from the moment at which the sets are
 * empty; established ones come to the forwarder until they end or their time is over,
 * because sockets and conntrack know them. Then everything is removed. Conntrack would lead UDP
 * clients here for as long as they speak, so it is made to forget them at once.
 */
export async function drainAndCleanup(state: ManagedState, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await leave(state)
  const { forwarderState, conntrack } = state
  if (forwarderState) {
    const { ownPorts } = forwarderState.forwarder
    const drained = forwarderState.forwarder.drain(signal)
    await conntrack?.cutTranslatedTo(ownPorts, ['UDP'])
    await drained
  }
  if (!signal.aborted) await cleanUp(state)
}

async function leave({ redirect }: ManagedState): Promise<void> {
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
