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
  /** Where to go on from; undefined: begin with a streaming list. */
  readonly version: string | undefined
  readonly signal: AbortSignal
}

/** An end after this part of `timeoutSeconds` is the planned one. */
const PLANNED = 0.95
/** A watch that held this long counts as a success, even when nothing happened. */
const HELD_MS = 10_000

/** Follows one watch from its opening to its end. */
export class WatchSession<T, Problem> {
  readonly #context: ReflectorContext<T, Problem>
  readonly #signal: AbortSignal
  readonly #seconds: number
  readonly #startedAt: number
  #version: string | undefined
  #listed: boolean
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

  /** Whether it brought something after its beginning, or held long enough. */
  get fruitful(): boolean {
    return this.#listed && (this.#events > 0 || this.#age() >= HELD_MS)
  }

  async run(): Promise<WatchEnd> {
    const { client, clock, timing, resource, progress } = this.#context
    const lifetimeMs = this.#seconds * 1000 + timing.slackMs
    const patience = this.#listed ? lifetimeMs : timing.initialIdleMs
    const guard = createDeadline(clock, patience, this.#signal)
    try {
      const query = this.#query()
      const opened = await client.watch(resource.path, { query, signal: guard.signal, lifetimeMs })
      if (!opened.ok) {
        const isGivenUp = opened.failure.errorCode === 'NP_CLIENT_ABORTED'
        if (isGivenUp && !this.#listed && guard.expired()) return { kind: 'silent' }
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
    const inTime = this.#age() >= this.#seconds * 1000 * PLANNED
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

  /** During a streaming list a lost object is just absent; later it may be any of the known. */
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
   * Notes how far we are. A version lower than one before means that the server
   * was put back to an older state. A DELETED that carries the version of the
   * object's last state instead of its deletion's is pardoned.
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
