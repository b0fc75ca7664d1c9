import { isJsonObject, parseJson } from '../../lib/json.ts'
import { createDeadline, type Deadline } from '../http/deadline.ts'
import { type ApiFailure, localFailure, statusFailure } from '../http/failure.ts'
import type { Query } from '../http/query.ts'
import type { WatchBatch, WatchStream } from '../http/watch-stream.ts'
import { type Identity, readIdentity } from './identity.ts'
import type { ReflectorContext } from './reflector-context.ts'
import { isRewound } from './reflector-state.ts'

/** The status codes with which a server refuses the parameters of a streaming list. */
const UNSUPPORTED_STATUS = new Set([400, 403, 405, 406, 415, 422, 501])
/** The status codes with which a server answers that it does not have the requested version. */
const UNKNOWN_VERSION_STATUS = new Set([400, 410, 422])

const INITIAL_END = 'k8s.io/initial-events-end'

export interface WatchSessionOptions {
  /** The resourceVersion to continue from; undefined to begin with a streaming list. */
  readonly version: string | undefined
  readonly signal: AbortSignal
}

/** The share of `timeoutSeconds` after which the end of a watch counts as planned. */
const PLANNED_SHARE = 0.95
/** Milliseconds after which a watch counts as a success even without an event. */
const SUCCESS_MS = 10_000

/** Follows one watch from its opening to its end. */
export class WatchSession<T, Problem> {
  readonly #context: ReflectorContext<T, Problem>
  readonly #signal: AbortSignal
  /** `timeoutSeconds` of the watch. */
  readonly #seconds: number
  readonly #startedAt: number
  #version: string | undefined
  /** Whether the streaming list is complete, or the watch began without such a list. */
  #listed: boolean
  /** The number of events after the initial list; ERROR does not count. */
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

  /**
   * Whether the initial list is complete (or there was none), and the watch had an event since, or lasted ten seconds.
   */
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

  /**
   * Handles an event that could not be read. In a streaming list, an object that is too long counts as absent. Any
   * other unreadable event may be about any known object, so everything is listed again.
   */
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
   * Records the version of an event. A version lower than before means that the server was restored to an older state.
   * This does not hold for DELETED events: some have the version of the object's last state instead of that of its
   * deletion.
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

/** One line of a watch. `raw` is the object as the server sent it, not validated. */
type WatchEvent =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
      /** Undefined if the object has no usable name. */
      readonly identity: Identity | undefined
      readonly raw: unknown
    }
  | {
      readonly type: 'BOOKMARK'
      readonly version: string
      /** Whether it ends the initial events of a streaming list. */
      readonly initialEnd: boolean
    }
  | { readonly type: 'ERROR'; readonly status: unknown }

/** Reads a watch line; undefined if it is not a watch event. */
function readWatchEvent(line: string): WatchEvent | undefined {
  const event = parseJson(line)
  if (!isJsonObject(event)) return undefined
  const { type, object } = event
  if (type === 'ERROR') return { type, status: object }
  if (type === 'BOOKMARK') return readBookmark(object)
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return undefined
  return { type, identity: readIdentity(object), raw: object }
}

function readBookmark(object: unknown): WatchEvent | undefined {
  const metadata = isJsonObject(object) ? object['metadata'] : undefined
  if (!isJsonObject(metadata) || typeof metadata['resourceVersion'] !== 'string') return undefined
  const annotations = metadata['annotations']
  const initialEnd = isJsonObject(annotations) && annotations[INITIAL_END] === 'true'
  return { type: 'BOOKMARK', version: metadata['resourceVersion'], initialEnd }
}

/** How a watch ended, which decides the next step. */
type WatchEnd =
  /** The server closed it at `timeoutSeconds`: continue where it ended. */
  | { readonly kind: 'planned' }
  /** The connection broke: check that the server has not lost history, then continue. */
  | { readonly kind: 'broken'; readonly failure: ApiFailure }
  /** The server does not have the watch's version, or may have lost history: list again. */
  | { readonly kind: 'lost'; readonly failure: ApiFailure }
  /** No response to a streaming list in time: use pages for this list. */
  | { readonly kind: 'silent' }
  /** The server does not support streaming lists: use pages from now on. */
  | { readonly kind: 'unsupported' }

/** The end of a watch that could not be opened; `initial`: whether it was to begin with a streaming list. */
function refusedWatch(failure: ApiFailure, initial: boolean): WatchEnd {
  if (initial && UNSUPPORTED_STATUS.has(failure.code)) return { kind: 'unsupported' }
  return {
    kind: UNKNOWN_VERSION_STATUS.has(failure.code) || isOutage(failure) ? 'lost' : 'broken',
    failure,
  }
}

/** The end of a watch in which the server sent an ERROR event. */
function erroneousWatch(failure: ApiFailure): WatchEnd {
  return { kind: UNKNOWN_VERSION_STATUS.has(failure.code) ? 'lost' : 'broken', failure }
}

/** The failure of a server whose versions went from `known` back to `current`. */
export function rewound(known: string, current: string): ApiFailure {
  const message = `the server's resourceVersion went back from ${known} to ${current}`
  return localFailure('NP_CLIENT_REWOUND', 'Rewound', message)
}

/**
 * Whether the server was down, after which the reflector lists again. Versions alone do not show whether the server
 * still has the same history: it may have been restored from a backup and have reached the same version since.
 */
function isOutage({ code, errorCode }: ApiFailure): boolean {
  return code >= 500 || errorCode === 'NP_CLIENT_UNREACHABLE' || errorCode === 'NP_CLIENT_TLS'
}

/** The failure of a watch that the server closed before `timeoutSeconds`. */
function endedEarly(path: string): ApiFailure {
  const message = `the watch of ${path} ended before its time`
  return localFailure('NP_CLIENT_WATCH_ENDED', 'WatchEnded', message)
}
