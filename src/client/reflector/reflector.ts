import { type Clock, sleep } from '../../lib/clock.ts'
import { parseJson } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import type { ApiClient } from '../http/api-client.ts'
import { type Backoff, createBackoff } from '../http/backoff.ts'
import { type ApiFailure, type ApiResult, localFailure } from '../http/failure.ts'
import { type ListBatch, type ListPage, readToEnd } from '../http/list-stream.ts'
import type { Query } from '../http/query.ts'
import { type Change, ObjectTracker, type Projection } from './object-tracker.ts'
import {
  DEFAULT_TIMING,
  type LossReason,
  type ReflectorContext,
  type ReflectorResource,
  type ReflectorTiming,
  type ReflectorVerb,
} from './reflector-context.ts'
import { createProgress, isRewound, type ReflectorState } from './reflector-state.ts'
import { rewound, WatchSession } from './watch-session.ts'

const PAGE_ITEMS = '500'
/** Pages of ten million objects. A server that sends more pages never ends its list. */
const MAX_PAGES = 20_000

export interface ReflectorOptions<T, Problem> {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly resource: ReflectorResource
  /** Replaces some of the times in `DEFAULT_TIMING`. */
  readonly timing?: Partial<ReflectorTiming>
  readonly decode: (raw: unknown) => Projection<T, Problem>
  /** Receives changes in order, in batches as they arrived. Never empty. */
  readonly onChanges: (changes: readonly Change<T>[]) => void
  /** Called when a list is complete, after `onChanges` got all its objects. */
  readonly onListed: () => void
  readonly onInvalid: (key: string, problems: readonly Problem[]) => void
  readonly onLost: (reason: LossReason) => void
  /** Called when a request failed and is repeated; also for an expired version, which `reasonOf` ignores. */
  readonly onFailure: (failure: ApiFailure, verb: ReflectorVerb) => void
  /** Called when a watch was opened, or when the single object was fetched because nothing else is permitted. */
  readonly onConnected: () => void
}

/** Follows one collection. */
export interface Reflector {
  /**
   * Follows the resource until `signal` is aborted, or until the server does not have this resource (`gone`). Rejects
   * only with an error of a callback.
   */
  run(signal: AbortSignal): Promise<'aborted' | 'gone'>
  state(): ReflectorState
  /** Keys of the objects passed to `onChanges` that still exist. */
  keys(): Iterable<string>
}

/** The kind of a step; `verify`: see `#verify`. */
type Phase = 'list' | 'verify' | 'watch'

interface FailedRequest {
  readonly verb: ReflectorVerb
  readonly failure: ApiFailure
}

/** The next step: at once, after a delay, or never. */
type Step =
  | { readonly phase: Phase; readonly failed?: FailedRequest; readonly delayMs?: number }
  | { readonly phase: 'gone' }

/**
 * Keeps a copy of a collection of an API server up to date: lists, watches, resumes the watch, and lists
 * again when the server may have lost its history. The rules are in the README of this module.
 */
export function createReflector<T, Problem>(options: ReflectorOptions<T, Problem>): Reflector {
  const progress = createProgress(options.resource.path, options.clock.now())
  const timing = { ...DEFAULT_TIMING, ...options.timing }
  const tracker = new ObjectTracker<T, Problem>(options)
  const context: ReflectorContext<T, Problem> = {
    ...options,
    timing,
    tracker,
    progress,
    deliver() {
      const changes = tracker.take()
      progress.objects = tracker.size
      progress.rejected = tracker.rejected
      if (changes.length > 0) options.onChanges(changes)
    },
    listed(version) {
      progress.resourceVersion = version
      progress.lists++
      progress.listedAt = options.clock.now()
      progress.lastEventAt = progress.listedAt
      options.onListed()
    },
    onLost: (reason) => options.onLost(reason),
    onFailure: (failure, verb) => options.onFailure(failure, verb),
    onConnected: () => options.onConnected(),
  }
  const backoff = createBackoff({
    random: options.random,
    baseMs: timing.backoffBaseMs,
    maxMs: timing.backoffMaxMs,
  })
  const steps = new Steps(context, backoff)
  return {
    run: (signal) => steps.run(signal),
    state: () => ({ ...progress, events: { ...progress.events } }),
    keys: () => tracker.keys(),
  }
}

/** The steps of one reflector; each step determines the next. */
class Steps<T, Problem> {
  readonly #context: ReflectorContext<T, Problem>
  readonly #backoff: Backoff
  /** False when a watch has shown that the server has no streaming lists. */
  #streamingSupported = true
  /** Whether the next list uses pages because a streaming list broke: perhaps they never work here. */
  #pageNextList = false

  constructor(context: ReflectorContext<T, Problem>, backoff: Backoff) {
    this.#context = context
    this.#backoff = backoff
  }

  async run(signal: AbortSignal): Promise<'aborted' | 'gone'> {
    let phase: Phase = 'list'
    while (!signal.aborted) {
      const step = await this.#take(phase, signal)
      if (signal.aborted) break
      if (step.phase === 'gone') return 'gone'
      phase = step.phase
      if (step.failed !== undefined) this.#recordFailure(step.failed)
      if (step.delayMs !== undefined) await sleep(this.#context.clock, step.delayMs, signal)
    }
    return 'aborted'
  }

  #take(phase: Phase, signal: AbortSignal): Promise<Step> {
    if (phase === 'list') return this.#list(signal)
    return phase === 'verify' ? this.#verify(signal) : this.#watch(signal)
  }

  async #list(signal: AbortSignal): Promise<Step> {
    const { progress } = this.#context
    if (progress.resourceVersion !== undefined) progress.restarts++
    progress.resourceVersion = undefined
    if (this.#streamingSupported && !this.#pageNextList) return this.#watch(signal)
    this.#pageNextList = false
    const listed = await readPagedList(this.#context, signal)
    if (listed.ok) {
      this.#context.listed(listed.value)
      return { phase: 'watch' }
    }
    return this.#listFailed({ verb: 'list', failure: listed.failure }, signal)
  }

  async #listFailed(failed: FailedRequest, signal: AbortSignal): Promise<Step> {
    const { resource } = this.#context
    const { failure } = failed
    const refused = failure.code === 403 || failure.code === 404
    if (refused && resource.single !== undefined && !signal.aborted) {
      const single = await this.#fetch(resource.single, signal)
      if (single.ok) return { phase: 'list', delayMs: this.#context.timing.pollMs }
      const isSame = single.failure.code === failure.code
      return this.#retry('list', isSame ? failed : { verb: 'get', failure: single.failure })
    }
    if (failure.code === 404 && resource.endWhenMissing === true) return { phase: 'gone' }
    return this.#retry('list', failed)
  }

  /** Fetches the single object instead of a list; 404 means that it does not exist. */
  async #fetch(path: string, signal: AbortSignal): Promise<ApiResult<undefined>> {
    const { client, tracker, progress } = this.#context
    const fetched = await client.get(path, { signal })
    if (!fetched.ok && fetched.failure.code !== 404) return fetched
    tracker.beginListing()
    if (fetched.ok) tracker.put(fetched.value)
    tracker.endListing()
    this.#context.deliver()
    this.#context.listed(undefined)
    progress.polled = true
    this.#context.onConnected()
    return { ok: true, value: undefined }
  }

  /** Compares the server's present version with that of the copy: a lower one means that the server lost history. */
  async #verify(signal: AbortSignal): Promise<Step> {
    const { client, resource, progress } = this.#context
    const query = { ...resource.query, limit: '1' }
    const opened = await client.list(resource.path, { query, signal })
    if (!opened.ok) return this.#retry('list', { verb: 'list', failure: opened.failure })
    const page = await readToEnd(opened.value)
    if (!page.ok) return this.#retry('list', { verb: 'list', failure: page.failure })
    const known = progress.resourceVersion
    if (known === undefined) return { phase: 'list' }
    if (!isRewound(known, page.value.version)) return { phase: 'watch' }
    const failure = rewound(known, page.value.version)
    return { phase: 'list', failed: { verb: 'list', failure } }
  }

  async #watch(signal: AbortSignal): Promise<Step> {
    const { progress } = this.#context
    const version = progress.resourceVersion
    const session = new WatchSession(this.#context, { version, signal })
    const end = await session.run()
    if (session.isSuccess) this.#backoff.reset()
    if (end.kind === 'planned') return { phase: 'watch' }
    if (end.kind === 'unsupported') {
      this.#streamingSupported = false
      return { phase: 'list' }
    }
    if (end.kind === 'silent') {
      this.#pageNextList = true
      return { phase: 'list' }
    }
    const failed: FailedRequest = { verb: 'watch', failure: end.failure }
    const unlisted = progress.resourceVersion === undefined
    if (unlisted && end.failure.code === 404) return this.#listFailed(failed, signal)
    this.#pageNextList = unlisted
    if (unlisted && end.failure.errorCode === 'NP_CLIENT_WATCH_ENDED') {
      return { phase: 'list', delayMs: this.#backoff.next() }
    }
    const lost = end.kind === 'lost' || unlisted
    return this.#retry(lost ? 'list' : 'verify', failed)
  }

  #retry(phase: Phase, failed: FailedRequest): Step {
    const { errorCode, reason, retryAfterMs = 0 } = failed.failure
    const isAway = errorCode === 'NP_CLIENT_UNREACHABLE' || reason === 'NoConnection'
    const mostMs = isAway ? this.#context.timing.awayMaxMs : undefined
    const delayMs = Math.max(this.#backoff.next(mostMs), retryAfterMs)
    return { phase, failed, delayMs }
  }

  #recordFailure({ failure, verb }: FailedRequest): void {
    const { progress, clock } = this.#context
    progress.failures++
    progress.polled = false
    this.#context.onFailure(failure, verb)
    progress.lastFailure = { ...failure, at: clock.now() }
  }
}

/**
 * Lists a collection in pages of 500, without `resourceVersion`, and therefore never from a stale cache. If the pages
 * expire meanwhile (410), lists again in one response, which cannot expire.
 * @returns the resourceVersion of the first page: if the pages of a server are not of one version, a watch from there
 * repeats the changes between them
 */
async function readPagedList<T, Problem>(
  context: ReflectorContext<T, Problem>,
  signal: AbortSignal,
): Promise<ApiResult<string>> {
  const paged = await readPages(context, { limit: PAGE_ITEMS }, signal)
  if (paged.ok || paged.failure.code !== 410) return paged
  return readPages(context, {}, signal)
}

async function readPages<T, Problem>(
  context: ReflectorContext<T, Problem>,
  limit: Query,
  signal: AbortSignal,
): Promise<ApiResult<string>> {
  context.tracker.beginListing()
  let version: string | undefined
  let token: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const query: Query = token === undefined ? limit : { ...limit, continue: token }
    const page = await readPage(context, query, signal)
    if (!page.ok) return page
    version ??= page.value.version
    if (page.value.next === undefined) {
      context.tracker.endListing()
      context.deliver()
      return { ok: true, value: version }
    }
    if (page.value.next === token) break
    token = page.value.next
  }
  const message = `the list of ${context.resource.path} does not end`
  return { ok: false, failure: localFailure('NP_CLIENT_GARBAGE', 'Garbage', message) }
}

async function readPage<T, Problem>(
  context: ReflectorContext<T, Problem>,
  query: Query,
  signal: AbortSignal,
): Promise<ApiResult<ListPage>> {
  const { client, resource } = context
  const opened = await client.list(resource.path, {
    query: { ...resource.query, ...query },
    signal,
  })
  if (!opened.ok) return opened
  for await (const batch of opened.value.batches) {
    readBatch(context, batch)
    context.deliver()
  }
  return opened.value.result()
}

function readBatch<T, Problem>(context: ReflectorContext<T, Problem>, batch: ListBatch): void {
  for (const text of batch.items) {
    const raw = parseJson(text)
    if (raw === undefined) context.onLost('garbage')
    else context.tracker.put(raw)
  }
  for (let lost = 0; lost < batch.oversized; lost++) context.onLost('oversized')
}
