import { setImmediate } from 'node:timers/promises'
import { type Json, stringAt } from '../../lib/json.ts'
import { regularly } from '../../lib/regularly.ts'
import type { Item } from '../cache/item.ts'
import type { ServerContext } from '../context/server-context.ts'
import { events } from '../kinds/event.ts'
import { deleteUnchanged } from '../persist/delete-unchanged.ts'

/** Events are forgotten this long after they were last seen. */
const LIFETIME_MS = 3_600_000
const SWEEP_MS = 60_000
/** Events that are looked at before others of this process have their turn. */
const IN_ONE_GO = 250

/** Keeps the number of Events bounded by their age; the returned function ends that. */
export function expireEvents(
  context: ServerContext,
  onError: (error: unknown) => void,
): () => void {
  const { clock } = context
  return regularly({ clock, everyMs: SWEEP_MS, round: () => sweep(context), onError })
}

async function sweep({ clock, feed, store }: ServerContext): Promise<void> {
  const oldest = clock.now() - LIFETIME_MS
  for (const [index, item] of [...feed.cache(events).snapshot()].entries()) {
    if (index % IN_ONE_GO === 0) await setImmediate()
    if (lastSeen(item) >= oldest) continue
    await deleteUnchanged(store, item.key, item.revision)
  }
}

/** Milliseconds since the epoch; an event without a readable time counts as new. */
function lastSeen(item: Item): number {
  const event = JSON.parse(item.value.toString()) as Json
  const texts = [
    stringAt(event, 'lastTimestamp'),
    stringAt(event, 'eventTime'),
    stringAt(event, 'metadata', 'creationTimestamp'),
  ]
  const times = texts.map((text) => Date.parse(text)).filter((time) => !Number.isNaN(time))
  return times.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...times)
}
