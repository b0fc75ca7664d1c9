import { setTimeout as delay } from 'node:timers/promises'
import { NodeProxyError } from '../../lib/error.ts'
import { systemRandom } from '../../lib/random.ts'
import type { WatchBatch, WatchQuery } from '../store.ts'
import { outcomeOf, refused } from './failure.ts'
import { type WatchContext, watchSession } from './watch-session.ts'

const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 2000

/**
 * A watch that outlives connections: it resumes after the last delivered batch, over any endpoint that answers,
 * so no change is missing or repeated. It begins with the first `next()`.
 * @throws NP_STORAGE_ETCD_REFUSED, and other errors that waiting does not resolve
 */
export function watchEtcd(
  context: WatchContext,
  query: WatchQuery,
  closed: AbortSignal,
): AsyncIterableIterator<WatchBatch> {
  const stop = new AbortController()
  const signals = [stop.signal, closed, ...(query.signal === undefined ? [] : [query.signal])]
  const batches = resume(context, query, AbortSignal.any(signals))
  return {
    next: () => batches.next(),
    return: async () => {
      stop.abort()
      void batches.return(undefined)
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function* resume(
  context: WatchContext,
  query: WatchQuery,
  signal: AbortSignal,
): AsyncGenerator<WatchBatch, undefined> {
  let { after } = query
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      for await (const batch of watchSession(context, { ...query, after }, signal)) {
        yield batch
        if (batch.refused !== undefined) return undefined
        after = batch.revision
        failures = 0
      }
    } catch (error) {
      if (signal.aborted) return undefined
      throwIfFinal(error)
    }
    await pause(failures, signal)
  }
  return undefined
}

/** Throws an error that is lasting; a broken connection and an unreachable etcd are temporary. */
function throwIfFinal(error: unknown): void {
  if (error instanceof NodeProxyError && error.code === 'NP_STORAGE_ETCD_UNREACHABLE') return
  if (outcomeOf(error) !== 'refused') return
  throw error instanceof NodeProxyError ? error : refused('Watch', error)
}

async function pause(failures: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(failures, 10))
  await delay(ms / 2 + systemRandom.below(ms / 2), undefined, { signal }).catch(() => undefined)
}
