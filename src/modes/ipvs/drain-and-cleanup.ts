import type { Clock } from '../../lib/clock.ts'
import type { ObjectKey } from '../mode.ts'
import { ifPresent } from '../netfilter/if-present.ts'
import { memberOf } from '../netfilter/objects/object-key.ts'
import { cleanUp } from './clean-up.ts'
import { endDrained, leavingMembersOf, pruneLeaving } from './draining/leaving.ts'
import type { ManagedState } from './managed-state.ts'
import { kindOf } from './objects/object.ts'
import { observeAll } from './observe.ts'

const LOOK_EVERY_MS = 1_000

/** When and how long draining goes on. */
export interface DrainOptions {
  /** Ends draining early; what is left is removed later. */
  readonly signal: AbortSignal
  readonly clock: Pick<Clock, 'after'>
}

/**
 * Another mode serves. New connections belong to it from the moment at which the sets
 * are empty; established ones find their virtual servers by the set LEAVING, until
 * they end or reach their deadline. Then everything is removed.
 */
export async function drainAndCleanup(
  state: ManagedState,
  { signal, clock }: DrainOptions,
): Promise<void> {
  if (signal.aborted) return
  if (await isServing(state)) await leave(state)
  while (!state.drainer.isEmpty) {
    if (await isAbortedAfter(LOOK_EVERY_MS, { signal, clock })) return
    await endDrained(state)
  }
  if (!signal.aborted) await cleanUp(state)
}

/** Whether there is anything to leave; a kernel without IPVS or sets has nothing. */
async function isServing(state: ManagedState): Promise<boolean> {
  await ifPresent(() => observeAll(state))
  return state.servers.known.size > 0
}

async function leave(state: ManagedState): Promise<void> {
  const { servers, writer, sets, drainer } = state
  const keys = [...servers.known.keys()]
  await sets.add(keys.flatMap((key) => leavingMembersOf(key, state)))
  await sets.delete(sets.keys().filter((key) => !isLeaving(key)))
  const { held } = await writer.apply([], keys)
  for (const key of held) drainer.hold(key)
  await pruneLeaving(state)
  drainer.review(keys)
}

function isLeaving(key: ObjectKey): boolean {
  return kindOf(key) === 'member' && memberOf(key).set.endsWith('-LEAVING')
}

/** Resolves to whether the signal came. */
function isAbortedAfter(ms: number, { signal, clock }: DrainOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', abort)
      resolve(signal.aborted)
    })
    function abort() {
      cancel()
      resolve(true)
    }
    signal.addEventListener('abort', abort, { once: true })
  })
}
