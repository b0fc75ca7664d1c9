import type { Deadline } from '../http/deadline.ts'
import { createDeadline } from '../http/deadline.ts'
import { localFailure, statusFailure } from '../http/failure/failure.ts'
import type { Query } from '../http/query.ts'
import type { WatchBatch, WatchStream } from '../http/watch-stream.ts'
import type { ReflectorContext } from './reflector-context.ts'
import { isRewound } from './resource-version.ts'
import type { WatchEnd } from './watch-end.ts'
import { endedEarly, erroneousWatch, refusedWatch, rewound } from './watch-end.ts'
import type { WatchEvent } from './watch-event.ts'
import { readWatchEvent } from './watch-event.ts'

export interface WatchSessionOptions {
  /** The resourceVersion to continue from; undefined: begin with a streaming list. */
  readonly version: string | undefined
  readonly signal: AbortSignal
}

/** The part of `timeoutSeconds` after which the end of a watch counts as planned. */
const PLANNED_SHARE = 0.95
/** Milliseconds after which a watch counts as a success without an event. */
const SUCCESS_MS = 10_000

/** Follows one watch from its opening to its end. */
export class WatchSession<T, Problem> {
  readonly #context: ReflectorContext<T, Problem>
  readonly #signal: AbortSignal
  /** `timeoutSeconds` of the watch. */
  readonly #seconds: number
  readonly #startedAt: number
  #version: string | undefined
  /** Whether the streaming list is complete, or the watch began without one. */
  #listed: boolean
  /** Events after the initial list; ERROR does not count. */
  #events = 0

  constructor(context: ReflectorContext<T, Problem>, { version, signal }: WatchSessionOptions) {
    const [least, most] = context.timing.watchSeconds
    this.#context = context
    this.#signal = signal
    this.#seconds = least + context.random.below(most - least + 1)
    this.#startedAt = context.clock.now()
    this.#version = version
    this.#listed = version !== undefined
  }

  /** Whether the watch had an event after the initial list, or lasted for ten seconds. */
  get isSuccess(): boolean {
    return this.#listed && (this.#events > 0 || this.#age() >= SUCCESS_MS)
  }

  /** Opens the watch and reads it to its end. */
  async run(): Promise<WatchEnd> {
    const { client, clock, timing, resource, progress } = this.#context
    const lifetimeMs = this.#seconds * 1000 + timing.slackMs
    const timeoutMs = this.#listed ? lifetimeMs : timing.initialIdleMs
    const guard = createDeadline(clock, timeoutMs, this.#signal)
    try {
      const query = this.#query()
      const opened = await client.watch(resource.path, { query, signal: guard.signal, lifetimeMs })
      if (!opened.ok) {
        const isAborted = opened.failure.errorCode === 'NP_CLIENT_ABORTED'
        if (isAborted && !this.#listed && guard.expired()) return { kind: 'silent' }
        return refusedWatch(opened.failure, !this.#listed)
      }
      progress.connected = true
      progress.polled = false
      progress.disconnectedSince = undefined
      progress.watches++
      this.#context.onConnected()
      return await this.#follow(opened.value, guard)
    } finally {
      progress.connected = false
      progress.disconnectedSince ??= clock.now()
      guard.clear()
    }
  }

  #query(): Query {
    const start: Query =
      this.#version === undefined
        ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: this.#version }
    const timeoutSeconds = String(this.#seconds)
    const common = { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds }
    return { ...this.#context.resource.query, ...common, ...start }
  }

  async #follow(stream: WatchStream, guard: Deadline): Promise<WatchEnd> {
    const { timing } = this.#context
    if (!this.#listed) this.#context.tracker.beginListing()
    for await (const batch of stream.batches) {
      const end = this.#read(batch)
      this.#context.deliver()
      if (end !== undefined) return end
      if (this.#listed) guard.extend(this.#seconds * 1000 + timing.slackMs - this.#age())
      else if (this.#age() > timing.initialTotalMs) return { kind: 'unsupported' }
      else guard.extend(timing.initialIdleMs)
    }
    if (!this.#listed && guard.expired()) return { kind: 'unsupported' }
    const failure = stream.failure() ?? endedEarly(this.#context.resource.path)
    const inTime = this.#age() >= this.#seconds * 1000 * PLANNED_SHARE
    const planned = stream.failure() === undefined && inTime
    return planned && this.#listed ? { kind: 'planned' } : { kind: 'broken', failure }
  }

  #read(batch: WatchBatch): WatchEnd | undefined {
    for (const line of batch) {
      const end = line === undefined ? this.#unreadable('oversized') : this.#readLine(line)
      if (end !== undefined) return end
    }
    return undefined
  }

  #readLine(line: string): WatchEnd | undefined {
    const event = readWatchEvent(line)
    return event === undefined ? this.#unreadable('garbage') : this.#apply(event)
  }

  /** An unreadable object of a streaming list counts as absent; later, it may be any known one, so list again. */
  #unreadable(reason: 'garbage' | 'oversized'): WatchEnd | undefined {
    this.#context.onLost(reason)
    if (!this.#listed && reason === 'oversized') return undefined
    const message = `a watch event could not be read (${reason})`
    return { kind: 'lost', failure: localFailure('NP_CLIENT_GARBAGE', 'Garbage', message) }
  }

  #apply(event: WatchEvent): WatchEnd | undefined {
    const { progress, clock, tracker } = this.#context
    progress.lastEventAt = clock.now()
    if (event.type === 'ERROR') {
      progress.events.error++
      const failure = statusFailure(0, event.status)
      return erroneousWatch(failure)
    }
    if (this.#listed) this.#events++
    if (event.type === 'BOOKMARK') return this.#bookmark(event)
    progress.events[COUNTER[event.type]]++
    const { identity, raw } = event
    if (event.type === 'DELETED') {
      if (identity !== undefined) tracker.remove(identity.key)
      return this.#advance(identity?.version ?? '', true)
    }
    if (identity === undefined) this.#context.onLost('nameless')
    tracker.put(raw, identity)
    return this.#advance(identity?.version ?? '', false)
  }

  #bookmark({ version, initialEnd }: WatchEvent & { type: 'BOOKMARK' }): WatchEnd | undefined {
    this.#context.progress.events.bookmark++
    if (this.#listed) return this.#advance(version, false)
    if (!initialEnd) return { kind: 'unsupported' }
    this.#listed = true
    this.#version = version
    this.#context.tracker.endListing()
    this.#context.deliver()
    this.#context.listed(version)
    return undefined
  }

  /**
   * Records the version of an event. A lower version than before means that the server
   * was restored to an older state. The exception is a DELETED with the version of the
   * object's last state instead of its deletion.
   */
  #advance(version: string, deleted: boolean): WatchEnd | undefined {
    if (!this.#listed || version === '') return undefined
    if (this.#version !== undefined && isRewound(this.#version, version)) {
      return deleted ? undefined : { kind: 'lost', failure: rewound(this.#version, version) }
    }
    this.#version = version
    this.#context.progress.resourceVersion = version
    return undefined
  }

  #age(): number {
    return this.#context.clock.now() - this.#startedAt
  }
}

const COUNTER = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const
