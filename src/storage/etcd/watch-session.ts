import type { Client } from '@grpc/grpc-js'
import type { WatchBatch, WatchQuery } from '../store.ts'
import type { Caller } from './caller.ts'
import { outcomeOf, refused } from './failure.ts'
import { Maintenance, Watch, type WatchResponse } from './generated/etcd_pb.ts'
import type { KeySpace } from './key-space.ts'
import { answersProgress, ProgressRequests } from './progress-requests.ts'
import type { Reader } from './reader.ts'
import { responses, unary } from './rpc.ts'
import { WatchAssembly } from './watch-assembly.ts'
import { createWatch } from './watch-request.ts'

/** What every watch of a store needs. */
export interface WatchContext {
  readonly caller: Caller
  readonly keys: KeySpace
  readonly reader: Reader
  /** How often an idle watch asks how far it is complete. */
  readonly progressMs: number
}

const STATUS_MS = 5000

/**
 * One stream of a watch, until it breaks (then it throws or just ends), is
 * refused (its last batch says so) or `signal` aborts it. A stream is read no
 * faster than its batches are taken; HTTP/2 makes etcd wait meanwhile.
 */
export async function* watchSession(
  context: WatchContext,
  query: WatchQuery,
  signal: AbortSignal,
): AsyncGenerator<WatchBatch, void> {
  const { call, client } = await context.caller.stream(Watch.method.watch, signal)
  const cancel = (): void => call.cancel()
  signal.addEventListener('abort', cancel)
  try {
    const everyMs = (await progressWorks(client)) ? context.progressMs : undefined
    signal.throwIfAborted()
    using progress = everyMs === undefined ? undefined : new ProgressRequests(call, everyMs, signal)
    call.write(createWatch(context.keys.range(query.prefix), startOf(query)))
    const assembly = new WatchAssembly(context.keys, query.after)
    for await (const response of responses(call)) {
      progress?.arrived()
      const batch = (await refusal(context, query, response)) ?? assembly.accept(response)
      if (batch !== undefined) yield batch
      if (response.canceled || batch?.refused !== undefined) return
    }
  } catch (error) {
    if (!signal.aborted) context.caller.leave(client)
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
    call.cancel()
  }
}

/**
 * The revision that was seen already, not the next: etcd refuses exactly the
 * starts before its compaction, and what it deleted at that very revision would
 * be missing silently from a watch that starts there.
 */
function startOf({ after }: WatchQuery): number {
  return Math.max(1, after)
}

/** Why a watch cannot be, if that is what the response means. Throws what is no matter of revisions. */
async function refusal(
  { reader }: WatchContext,
  { after }: WatchQuery,
  response: WatchResponse,
): Promise<WatchBatch | undefined> {
  const { canceled, compactRevision, cancelReason, created, header } = response
  if (canceled && compactRevision === 0n) throw refused('Watch', new Error(cancelReason))
  if (canceled) {
    return {
      refused: 'compacted',
      oldest: Number(compactRevision),
      newest: await reader.revision(),
    }
  }
  // A member may lag behind the one that told `after`, so the whole cluster is asked.
  const ahead = created && after > Number(header?.revision ?? 0n)
  return ahead && after > (await reader.revision()) ? reader.refusal('future') : undefined
}

async function progressWorks(client: Client): Promise<boolean> {
  try {
    const { version } = await unary(client, Maintenance.method.status, {}, Date.now() + STATUS_MS)
    return answersProgress(version)
  } catch (error) {
    if (outcomeOf(error) === 'refused') return false
    throw error
  }
}
