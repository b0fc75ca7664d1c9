import type { Clock } from '../../lib/clock.ts'
import type { ObjectKey } from '../mode.ts'
import { cleanUp } from './clean-up.ts'
import type { Estate } from './estate.ts'
import { leavingKey } from './member.ts'
import { kindOf, memberOf } from './object.ts'
import { observeAll } from './observe.ts'

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
    const gone = await estate.drainer.step()
    await estate.sets.delete(gone.flatMap(leavingKey))
  }
  if (!signal.aborted) await cleanUp(estate)
}

/** Whether there is anything to leave; a kernel that cannot say has nothing. */
async function isServing(estate: Estate): Promise<boolean> {
  try {
    await observeAll(estate)
    return estate.servers.known.size > 0
  } catch {
    return false
  }
}

async function leave({ servers, sets, drainer }: Estate): Promise<void> {
  const keys = [...servers.known.keys()]
  await sets.add(keys.flatMap(leavingKey))
  await sets.delete(sets.keys().filter((key) => !isLeaving(key)))
  const { held } = await servers.apply([], keys)
  for (const key of held) drainer.hold(key)
  const ended = keys.filter((key) => !held.includes(key))
  await sets.delete(ended.flatMap(leavingKey))
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
