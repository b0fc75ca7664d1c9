import { setTimeout as delay } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { NodeProxyError } from '../../lib/error.ts'
import { systemRandom } from '../../lib/random.ts'
import type { StoreEvent, WatchBatch, WatchQuery } from '../store.ts'
import type { Caller } from './caller.ts'
import { outcomeOf, refused } from './failure.ts'
import {
  type Event,
  Event_EventType,
  Watch,
  type WatchRequest,
  WatchRequestSchema,
  type WatchResponse,
} from './generated/etcd_pb.ts'
import type { KeyRange, KeySpace } from './key-space.ts'
import { responses } from './rpc.ts'

/** All changes of some revisions, complete up to `revision`. */
export interface WholeRevisions {
  readonly refused?: never
  readonly events: readonly StoreEvent[]
  readonly revision: number
}

/** What every watch of a key space needs. */
export interface WatchContext {
  readonly caller: Caller
  readonly keys: KeySpace
  /** The newest revision that a watch can have delivered. */
  newest(): Promise<number>
  /** `newest` as it was at a revision of etcd; undefined when the latter is compacted. */
  revisionAt(etcdRevision: number): Promise<number | undefined>
}

/**
 * One stream of a watch, until it breaks (then it throws or just ends), is refused (its last batch has the
 * reason) or `signal` aborts it. It reads the whole key space, whatever its prefix: the marker carries each
 * revision of the store. The stream is read no faster than its batches are consumed; HTTP/2 flow control makes
 * etcd wait.
 */
async function* watchSession(
  context: WatchContext,
  query: WatchQuery,
  signal: AbortSignal,
): AsyncGenerator<WatchBatch, void> {
  const { call, client } = await context.caller.stream(Watch.method.watch, signal)
  const cancel = (): void => call.cancel()
  signal.addEventListener('abort', cancel)
  const assembly = new WatchAssembly(context.keys, query)
  const begin = (start: number): void => {
    call.write(createWatch(context.keys.everything(), start))
  }
  try {
    signal.throwIfAborted()
    begin(startOf(query))
    for await (const response of responses(call)) {
      const batch = (await refusal(context, assembly, response)) ?? assembly.accept(response)
      if (batch !== undefined) yield batch
      if (batch?.refused !== undefined) return
      if (response.canceled) begin(Number(response.compactRevision))
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
 * The revision to start at: the last one that the watch already has, not the next one. etcd accepts a start at
 * its compacted revision, without the deletions of that revision, and refuses every earlier start. So a watch
 * that still needs the compacted revision is refused.
 */
function startOf({ after }: WatchQuery): number {
  return Math.max(1, after)
}

/**
 * Why a watch ends, if a response says so. A compaction that removed no change of the store's prefix does not
 * end it: the caller begins again at the oldest revision of etcd.
 * @throws NP_STORAGE_ETCD_REFUSED when etcd cancels the watch for another reason
 */
async function refusal(
  context: WatchContext,
  { revision }: WatchAssembly,
  { canceled, compactRevision, cancelReason, created }: WatchResponse,
): Promise<WatchBatch | undefined> {
  if (canceled && compactRevision === 0n) throw refused('Watch', new Error(cancelReason))
  if (canceled) {
    const oldest = await context.revisionAt(Number(compactRevision))
    if (oldest === undefined || oldest <= revision) return undefined
    return { refused: 'compacted', oldest, newest: await context.newest() }
  }
  const newest = created ? await context.newest() : revision
  return revision > newest ? { refused: 'future', oldest: 0, newest } : undefined
}

/** A watch of every change of a range from `start` on. Large responses come in fragments. */
export function createWatch(range: KeyRange, start: number): WatchRequest {
  const value = { ...range, startRevision: BigInt(start), fragment: true }
  return create(WatchRequestSchema, { requestUnion: { case: 'createRequest', value } })
}

/**
 * Assembles whole revisions from the responses of one watch. etcd may split a revision between
 * fragments of a response, so the last revision of a fragment waits for the next fragment. All earlier
 * ones are delivered at once, so a long backlog needs little memory.
 */
export class WatchAssembly {
  readonly #keys: KeySpace
  readonly #prefix: string
  #complete: number
  #waiting: StoreEvent[] = []

  /** Drops changes up to `after`; changes of other keys only advance the revision. */
  constructor(keys: KeySpace, query: { readonly prefix: string; readonly after: number }) {
    this.#keys = keys
    this.#prefix = query.prefix || '/'
    this.#complete = query.after
  }

  /** All changes up to this revision were delivered. */
  get revision(): number {
    return this.#complete
  }

  /** The revisions that a response completes; undefined: none. */
  accept(response: WatchResponse): WholeRevisions | undefined {
    const before = this.#complete
    const events = [...this.#waiting, ...response.events.map((event) => this.#event(event))]
    const last = events.at(-1)?.revision ?? before
    const whole = response.fragment ? events.filter(({ revision }) => revision < last) : events
    this.#waiting = events.slice(whole.length)
    this.#complete = Math.max(before, whole.at(-1)?.revision ?? 0)
    if (this.#complete === before) return undefined
    const fresh = whole.filter(
      ({ key, revision }) => revision > before && key.startsWith(this.#prefix),
    )
    return { events: fresh, revision: this.#complete }
  }

  #event({ type, kv }: Event): StoreEvent {
    const entry = this.#keys.entry(kv!)
    const { key, modRevision } = entry
    return {
      key,
      revision: modRevision,
      entry: type === Event_EventType.DELETE ? undefined : entry,
    }
  }
}

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
