import type { ApiOperation } from '../client/http/api-failures.ts'
import { createBackoff } from '../client/http/backoff.ts'
import {
  discoverEndpointsApi,
  ENDPOINTS_PATHS,
  type EndpointsApi,
} from '../client/http/discovery.ts'
import { type ApiFailure, statusFailure } from '../client/http/failure.ts'
import type { Reflector } from '../client/reflector/reflector.ts'
import { DEFAULT_TIMING } from '../client/reflector/reflector-context.ts'
import type { ReflectorState } from '../client/reflector/reflector-state.ts'
import type { ClusterEvent } from '../cluster/cluster-store.ts'
import { sleep } from '../lib/clock.ts'
import { decodeEndpointSlice } from '../resources/endpoint-slice.ts'
import { decodeEndpoints } from '../resources/endpoints.ts'
import type { EndpointSource } from '../resources/types.ts'
import { createFeed, type FeedContext } from './feed.ts'

/** What the feed works with, and the callbacks that it calls. */
export interface EndpointsFeedOptions {
  readonly context: FeedContext
  /** Called with changes in their order, never with an empty batch. */
  readonly onEvents: (batch: readonly ClusterEvent[]) => void
  /** Called whenever the objects of an API have all been listed, after `onEvents` got them. */
  readonly onListed: () => void
  /**
   * Whether to follow the endpoints of headless Services as well, to which a node does not forward; false by default.
   */
  readonly includeHeadless?: boolean
}

/** See `createEndpointsFeed`. */
export interface EndpointsFeed {
  /** Follows endpoints until `signal` is aborted; rejects only for a bug in a callback. */
  run(signal: AbortSignal): Promise<void>
  /** The API in use; undefined before discovery. */
  api(): EndpointsApi | undefined
  /** State of that API's reflector. */
  state(): ReflectorState | undefined
  /** Why discovery failed; undefined once it has succeeded. */
  failure(): ApiFailure | undefined
}

/** How often the feed checks for `discovery.k8s.io/v1` on a server that did not have it. */
const UPGRADE_CHECK_MS = 5 * 60_000
/** Reported for a server without any API for endpoints: every API server has at least v1 Endpoints. */
const NO_ENDPOINTS = statusFailure(404, undefined)
const NOT_HEADLESS = { labelSelector: '!service.kubernetes.io/headless' }

/**
 * Follows the endpoints of Services through the best API that the server has: EndpointSlices of
 * `discovery.k8s.io/v1`, else of `v1beta1`, else v1 Endpoints. When the server gets a better API or loses
 * the present one, the objects of the old API stay until those of the new one are listed; one batch then
 * removes the old ones and adds the new ones.
 */
export function createEndpointsFeed(options: EndpointsFeedOptions): EndpointsFeed {
  return new DiscoveredEndpointsFeed(options)
}

class DiscoveredEndpointsFeed implements EndpointsFeed {
  readonly #options: EndpointsFeedOptions
  #api: EndpointsApi | undefined
  #reflector: Reflector | undefined
  #failure: ApiFailure | undefined
  /** Names of the objects of an earlier API for which no deletion was reported yet. */
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

  /** Follows one API until the server loses it or has a better one; returns whether it was ever listed. */
  async #follow(api: EndpointsApi, signal: AbortSignal): Promise<boolean> {
    const ended = new AbortController()
    const end = (): void => ended.abort()
    const either = AbortSignal.any([signal, ended.signal])
    const reflector = this.#start(api)
    this.#api = api
    this.#reflector = reflector
    await Promise.all([
      reflector.run(either).finally(end),
      this.#awaitUpgrade(api, either).finally(end),
    ])
    if (this.#leftover.length === 0) this.#leftover = [...reflector.keys()]
    return reflector.state().lists > 0
  }

  /** Resolves when discovery finds another API than `api`, or when `signal` is aborted. */
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

  /** Failures of discovery are reported for the resource of the present API; at the start for slices. */
  #discovery(): ApiOperation {
    return { verb: 'discover', resource: this.#api === 'v1' ? 'endpoints' : 'endpointslices' }
  }

  #start(api: EndpointsApi): Reflector {
    const { context, onEvents, onListed, includeHeadless = false } = this.#options
    const path = ENDPOINTS_PATHS[api]
    // While objects of an earlier API are left, events wait until the list is complete.
    let waiting: ClusterEvent[] | undefined = this.#leftover.length > 0 ? [] : undefined
    return createFeed<EndpointSource>(context, {
      name: api === 'v1' ? 'endpoints' : 'endpointslices',
      resource: { path, query: includeHeadless ? {} : NOT_HEADLESS, endWhenMissing: true },
      decode: (raw) =>
        api === 'v1'
          ? decodeEndpoints(raw, { includeHeadless })
          : decodeEndpointSlice(raw, { includeHeadless }),
      onChanges(changes) {
        const events = changes.map(({ key, value }) => endpointsEvent(key, value))
        if (waiting === undefined) onEvents(events)
        else waiting.push(...events)
      },
      onListed: () => {
        if (waiting !== undefined) {
          onEvents([...this.#leftover.map((name) => endpointsEvent(name)), ...waiting])
        }
        waiting = undefined
        this.#leftover = []
        onListed()
      },
    })
  }
}

function endpointsEvent(name: string, value?: EndpointSource): ClusterEvent {
  return { kind: 'endpoints', name, value }
}
