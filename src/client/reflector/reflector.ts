import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { sleep } from '../../lib/sleep.ts'
import type { ApiClient } from '../http/api-client.ts'
import type { ApiFailure, ApiResult } from '../http/failure/failure.ts'
import { drain } from '../http/list-stream.ts'
import type { Backoff } from './backoff.ts'
import { createBackoff } from './backoff.ts'
import type { Change, Projection } from './object-tracker.ts'
import { ObjectTracker } from './object-tracker.ts'
import { readPagedList } from './paged-list.ts'
import type {
  LossReason,
  ReflectorContext,
  ReflectorResource,
  ReflectorTiming,
  ReflectorVerb,
} from './reflector-context.ts'
import { DEFAULT_TIMING } from './reflector-context.ts'
import type { ReflectorState } from './reflector-state.ts'
import { createProgress } from './reflector-state.ts'
import { isRewound } from './resource-version.ts'
import { rewound } from './watch-end.ts'
import { WatchSession } from './watch-session.ts'

export interface ReflectorOptions<T, Problem> {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly resource: ReflectorResource
  readonly timing?: Partial<ReflectorTiming>
  readonly decode: (raw: unknown) => Projection<T, Problem>
  /** What changed, in order; what arrived together comes together. Never empty. */
  readonly onChanges: (changes: readonly Change<T>[]) => void
  /** A list is complete; all of it has gone through `onChanges`. */
  readonly onListed: () => void
  readonly onInvalid: (key: string, problems: readonly Problem[]) => void
  readonly onLost: (reason: LossReason) => void
  /** A request failed and is repeated; not for expired versions alone: see `reasonOf`. */
  readonly onFailure: (failure: ApiFailure, verb: ReflectorVerb) => void
  /** A watch was opened, or the one object was fetched where nothing else is allowed. */
  readonly onConnected: () => void
}

export interface Reflector {
  /**
   * Follows the resource until `signal` is aborted, or until the server has no
   * such resource (`gone`). Rejects only for a bug in a callback.
   */
  run(signal: AbortSignal): Promise<'aborted' | 'gone'>
  state(): ReflectorState
  /** Keys of the objects handed to `onChanges` that still exist. */
  keys(): Iterable<string>
}

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
 * Keeps an idea of a collection on an API server: list, watch, resume, and list
 * again when the past cannot be trusted. See this room's README for the rules.
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

class Steps<T, Problem> {
  readonly #context: ReflectorContext<T, Problem>
  readonly #backoff: Backoff
  /** Whether the server offers streaming lists, as far as we know. */
  #offered = true
  /** A streaming list that broke is followed by pages, in case that it cannot work here. */
  #brokeStreaming = false

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
      if (step.failed !== undefined) this.#note(step.failed)
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
    if (this.#offered && !this.#brokeStreaming) return this.#watch(signal)
    this.#brokeStreaming = false
    const listed = await readPagedList(this.#context, signal)
    if (listed.ok) {
      this.#context.listed(listed.value)
      return { phase: 'watch' }
    }
    return this.#unlisted({ verb: 'list', failure: listed.failure }, signal)
  }

  async #unlisted(failed: FailedRequest, signal: AbortSignal): Promise<Step> {
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

  /** The one object, fetched instead of listed; that it does not exist is an answer too. */
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

  /** Asks for the server's present version: lower than ours means that it lost its past. */
  async #verify(signal: AbortSignal): Promise<Step> {
    const { client, resource, progress } = this.#context
    const query = { ...resource.query, limit: '1' }
    const opened = await client.list(resource.path, { query, signal })
    if (!opened.ok) return this.#retry('list', { verb: 'list', failure: opened.failure })
    const page = await drain(opened.value)
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
    if (session.fruitful) this.#backoff.reset()
    if (end.kind === 'planned') return { phase: 'watch' }
    if (end.kind === 'unsupported') {
      this.#offered = false
      return { phase: 'list' }
    }
    if (end.kind === 'silent') {
      this.#brokeStreaming = true
      return { phase: 'list' }
    }
    const failed: FailedRequest = { verb: 'watch', failure: end.failure }
    const unlisted = progress.resourceVersion === undefined
    if (unlisted && end.failure.code === 404) return this.#unlisted(failed, signal)
    this.#brokeStreaming = unlisted
    if (unlisted && end.failure.errorCode === 'NP_CLIENT_WATCH_ENDED') {
      return { phase: 'list', delayMs: this.#backoff.next() }
    }
    const lost = end.kind === 'lost' || unlisted
    return this.#retry(lost ? 'list' : 'verify', failed)
  }

  #retry(phase: Phase, failed: FailedRequest): Step {
    const delayMs = Math.max(this.#backoff.next(), failed.failure.retryAfterMs ?? 0)
    return { phase, failed, delayMs }
  }

  #note({ failure, verb }: FailedRequest): void {
    const { progress, clock } = this.#context
    progress.failures++
    progress.polled = false
    this.#context.onFailure(failure, verb)
    progress.lastFailure = { ...failure, at: clock.now() }
  }
}
