import type { EndpointsApi } from '../client/http/discovery.ts'
import { discoverEndpointsApi, ENDPOINTS_PATHS } from '../client/http/discovery.ts'
import type { ApiOperation } from '../client/http/failure/api-failures.ts'
import { type ApiFailure, statusFailure } from '../client/http/failure/failure.ts'
import { createBackoff } from '../client/reflector/backoff.ts'
import type { Reflector } from '../client/reflector/reflector.ts'
import { DEFAULT_TIMING } from '../client/reflector/reflector-context.ts'
import type { ReflectorState } from '../client/reflector/reflector-state.ts'
import type { ClusterEvent } from '../cluster/cluster-event.ts'
import { sleep } from '../lib/sleep.ts'
import { decodeEndpointSlice } from '../resources/endpoint-slice.ts'
import { decodeEndpoints } from '../resources/endpoints.ts'
import type { EndpointSource } from '../resources/types.ts'
import type { FeedContext } from './feed.ts'
import { createFeed } from './feed.ts'

export interface EndpointsFeedOptions {
  readonly context: FeedContext
  readonly onEvents: (batch: readonly ClusterEvent[]) => void
  readonly onListed: () => void
}

export interface EndpointsFeed {
  /** Runs until `signal` is aborted. */
  run(signal: AbortSignal): Promise<void>
  /** The API in use; undefined before discovery. */
  api(): EndpointsApi | undefined
  /** State of that API's reflector. */
  state(): ReflectorState | undefined
  /** Why discovery failed; undefined once it has succeeded. */
  failure(): ApiFailure | undefined
}

/** How often the feed checks whether a server without discovery v1 has it by now. */
const UPGRADE_CHECK_MS = 5 * 60_000
/** No collection of endpoints exists there, not even that of v1, which every API server has. */
const NO_ENDPOINTS = statusFailure(404, undefined)
/** Endpoints of headless Services are nothing that a node forwards to. */
const SELECTOR = { labelSelector: '!service.kubernetes.io/headless' }

/**
 * Follows the endpoints of Services through the best API that the server has.
 * When that API changes (an upgraded server), the objects of the old one stay
 * until those of the new one are listed, and go in the same batch.
 */
export function createEndpointsFeed(options: EndpointsFeedOptions): EndpointsFeed {
  return new Follower(options)
}

class Follower implements EndpointsFeed {
  readonly #options: EndpointsFeedOptions
  #api: EndpointsApi | undefined
  #reflector: Reflector | undefined
  #failure: ApiFailure | undefined
  /** Names from former APIs that are still known downstream. */
  #leftover: string[] = []

  constructor(options: EndpointsFeedOptions) {
    this.#options = options
  }

  api(): EndpointsApi | undefined {
    return this.#api
  }

  state(): ReflectorState | undefined {
    return this.#reflector?.state()
  }

  failure(): ApiFailure | undefined {
    return this.#failure
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, random, timing, reporter } = this.#options.context
    const { backoffBaseMs: baseMs, backoffMaxMs: maxMs } = { ...DEFAULT_TIMING, ...timing }
    const backoff = createBackoff({ random, baseMs, maxMs })
    while (!signal.aborted) {
      const found = await discoverEndpointsApi(client, signal)
      this.#failure = found.ok ? undefined : found.failure
      if (signal.aborted) break
      if (!found.ok) reporter.failed(this.#discovery(), found.failure)
      if (found.ok) {
        reporter.succeeded(this.#discovery().resource)
        if (await this.#follow(found.value, signal)) backoff.reset()
        else if (!signal.aborted) reporter.failed(this.#discovery(), NO_ENDPOINTS)
      }
      await sleep(clock, backoff.next(), signal)
    }
  }

  /**
   * Follows one API until it is gone or a better one is there; returns whether it
   * was ever listed. What it delivered stays known until its successor is listed.
   */
  async #follow(api: EndpointsApi, signal: AbortSignal): Promise<boolean> {
    const ended = new AbortController()
    const end = (): void => ended.abort()
    signal.addEventListener('abort', end, { once: true })
    const reflector = this.#start(api)
    this.#api = api
    this.#reflector = reflector
    try {
      await Promise.all([
        reflector.run(ended.signal).finally(end),
        this.#awaitUpgrade(api, ended.signal).finally(end),
      ])
    } finally {
      signal.removeEventListener('abort', end)
    }
    if (this.#leftover.length === 0) this.#leftover = [...reflector.keys()]
    return reflector.state().lists > 0
  }

  async #awaitUpgrade(api: EndpointsApi, signal: AbortSignal): Promise<void> {
    const { client, clock, reporter } = this.#options.context
    let best = api
    while (best === api && !signal.aborted) {
      await sleep(clock, UPGRADE_CHECK_MS, signal)
      if (signal.aborted || api === 'discovery.k8s.io/v1') continue
      const found = await discoverEndpointsApi(client, signal)
      if (signal.aborted) return
      if (!found.ok) {
        reporter.failed(this.#discovery(), found.failure)
        continue
      }
      reporter.succeeded(this.#discovery().resource)
      best = found.value
    }
  }

  /** Reported under the name of what is followed, or would be first. */
  #discovery(): ApiOperation {
    return { verb: 'discover', resource: this.#api === 'v1' ? 'endpoints' : 'endpointslices' }
  }

  #start(api: EndpointsApi): Reflector {
    const { context, onEvents, onListed } = this.#options
    const path = ENDPOINTS_PATHS[api]
    // Nothing is handed on before the list is complete while a former API's objects stand.
    let held: ClusterEvent[] | undefined = this.#leftover.length > 0 ? [] : undefined
    return createFeed<EndpointSource>(context, {
      name: api === 'v1' ? 'endpoints' : 'endpointslices',
      resource: { path, query: SELECTOR, endWhenMissing: true },
      decode: api === 'v1' ? decodeEndpoints : decodeEndpointSlice,
      onChanges(changes) {
        const events = changes.map(({ key, value }) => endpointsEvent(key, value))
        if (held === undefined) onEvents(events)
        else held.push(...events)
      },
      onListed: () => {
        if (held !== undefined) onEvents([...this.#leftover.map((n) => endpointsEvent(n)), ...held])
        held = undefined
        this.#leftover = []
        onListed()
      },
    })
  }
}

function endpointsEvent(name: string, value?: EndpointSource): ClusterEvent {
  return { kind: 'endpoints', name, value }
}
