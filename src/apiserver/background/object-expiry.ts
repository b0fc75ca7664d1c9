import { setImmediate } from 'node:timers/promises'
import type { JsonObject } from '../../lib/json.ts'
import { regularly } from '../../lib/regularly.ts'
import type { ServerContext } from '../context/server-context.ts'
import { catalogue } from '../kinds/catalogue.ts'
import type { ExpiryRules } from '../resource/lifecycle-rules.ts'
import type { Resource } from '../resource/resource.ts'
import { deleteUnchanged } from '../verbs/persist.ts'

/** Milliseconds from the end of one sweep to the beginning of the next. */
const SWEEP_MS = 60_000

/** Objects that a sweep reads before the event loop runs other work. */
const BATCH = 250

/**
 * Once a minute, removes expired objects of the kinds that declare an expiry, such as Events.
 * @returns a function that stops this
 */
export function expireObjects(
  context: ServerContext,
  onError: (error: unknown) => void,
): () => void {
  const { clock } = context
  return regularly({ clock, everyMs: SWEEP_MS, round: () => sweepAll(context), onError })
}

async function sweepAll(context: ServerContext): Promise<void> {
  for (const resource of catalogue) {
    if (resource.expiry !== undefined) await sweep(context, resource, resource.expiry)
  }
}

async function sweep(
  { clock, feed, store }: ServerContext,
  resource: Resource,
  { lifetimeMs, lastSeen }: ExpiryRules,
): Promise<void> {
  const oldest = clock.now() - lifetimeMs
  for (const [index, item] of [...feed.cache(resource).snapshot()].entries()) {
    if (index % BATCH === 0) await setImmediate()
    if (lastSeen(JSON.parse(item.value.toString()) as JsonObject) >= oldest) continue
    await deleteUnchanged(store, item.key, item.revision)
  }
}
