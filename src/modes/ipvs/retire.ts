import type { Clock } from '../../lib/clock.ts'
import type { ObjectKey } from '../mode.ts'
import { ifPresent } from '../netfilter/if-present.ts'
import { memberOf } from '../netfilter/object-key.ts'
import { cleanUp } from './clean-up.ts'
import type { Estate } from './estate.ts'
import { kindOf } from './object.ts'
import { observeAll } from './observe.ts'
import { endDrained, forgetWays, waysTo } from './ways.ts'

const LOOK_EVERY_MS = 1_000

export interface Retirement {
  readonly signal: AbortSignal
  readonly clock: Pick<Clock, 'after'>
}

/**
 * Another mode serves. New connections are its own from the moment at which the sets
 * are empty; established ones find their virtual servers by the set LEAVING, until
 * they end or their time is over. Then everything is removed.
 */
export async function retire(estate: Estate, { signal, clock }: Retirement): Promise<void> {
  if (signal.aborted) return
  if (await isServing(estate)) await leave(estate)
  while (!estate.drainer.isEmpty) {
    if (await isAbortedAfter(LOOK_EVERY_MS, { signal, clock })) return
    await endDrained(estate)
  }
  if (!signal.aborted) await cleanUp(estate)
}

/** Whether there is anything to leave; a kernel without IPVS or sets has nothing. */
async function isServing(estate: Estate): Promise<boolean> {
  await ifPresent(() => observeAll(estate))
  return estate.servers.known.size > 0
}

async function leave(estate: Estate): Promise<void> {
  const { servers, sets, drainer } = estate
  const keys = [...servers.known.keys()]
  await sets.add(keys.flatMap((key) => waysTo(key, estate)))
  await sets.delete(sets.keys().filter((key) => !isLeaving(key)))
  const { held } = await servers.apply([], keys)
  for (const key of held) drainer.hold(key)
  await forgetWays(estate)
  drainer.review(keys)
}

function isLeaving(key: ObjectKey): boolean {
  return kindOf(key) === 'member' && memberOf(key).set.endsWith('-LEAVING')
}

/** Resolves to whether the signal came. */
function isAbortedAfter(ms: number, { signal, clock }: Retirement): Promise<boolean> {
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
