import { createBackoff } from '../client/http/backoff.ts'
import type { ApiFailure } from '../client/http/failure.ts'
import type { Reflector } from '../client/reflector/reflector.ts'
import { DEFAULT_TIMING } from '../client/reflector/reflector-context.ts'
import { sleep } from '../lib/clock.ts'
import { arrayAt, isJsonObject, stringAt } from '../lib/json.ts'
import type { ClusterNetworkPolicy } from '../networkpolicy/cluster-network-policy.ts'
import { readClusterPolicy } from '../networkpolicy/read-cluster-policy.ts'
import type { PolicyEvent } from '../policy/policy-content.ts'
import type { Decoded } from '../resources/problem.ts'
import type { WatchedResource } from './cluster-watcher.ts'
import {
  createFeed,
  endingAtRefusal,
  type FeedContext,
  isRefusal,
  probeList,
  RECHECK_MS,
} from './feed.ts'

const RESOURCE = 'clusternetworkpolicies'
const GROUP = 'policy.networking.k8s.io'
const VERSION = `${GROUP}/v1alpha2`
const PATH = `/apis/${VERSION}/${RESOURCE}`

/** What the feed works with, and the callbacks that it calls. */
export interface ClusterPolicyFeedOptions {
  readonly context: FeedContext
  /** Called with changes in their order, never with an empty batch. */
  readonly onEvents: (batch: readonly PolicyEvent[]) => void
  /** Called when the objects are listed, after `onEvents` got them, and when the server has none or refuses them. */
  readonly onSettled: () => void
  /** Called once when the server forbids what it has (403), and with undefined when that has ended. */
  readonly onForbidden: (failure: ApiFailure | undefined) => void
}

/**
 * Follows the ClusterNetworkPolicies where the server has them. Discovery says whether it does, because a server may forbid
 * what it does not have. A server without them is no failure: the feed looks again every five minutes, and what was known
 * is gone when they are still missing half a minute later. What is forbidden is no failure either, and what was known stays.
 */
export class ClusterPolicyFeed {
  readonly #options: ClusterPolicyFeedOptions
  #reflector: Reflector | undefined
  /** Names of policies of earlier watches; they count as deleted unless they are listed again. */
  #leftover: readonly string[] = []
  #isForbidden = false

  constructor(options: ClusterPolicyFeedOptions) {
    this.#options = options
  }

  /** The watch; none while the server has no such API, or forbids it. */
  state(): readonly WatchedResource[] {
    return this.#reflector ? [{ resource: RESOURCE, state: this.#reflector.state() }] : []
  }

  /** Runs until `signal` is aborted. Rejects only for a bug in a callback. */
  async run(signal: AbortSignal): Promise<void> {
    const { context, onSettled } = this.#options
    const { clock, random, timing, reporter } = context
    const { backoffBaseMs: baseMs, backoffMaxMs: maxMs } = { ...DEFAULT_TIMING, ...timing }
    const backoff = createBackoff({ random, baseMs, maxMs })
    /** Refusals in succession of one kind: missing or forbidden. */
    let refusals = 0
    let wasMissing = false
    while (!signal.aborted) {
      const found = await this.#check(signal)
      if (signal.aborted) break
      if (found !== undefined && found !== 'missing' && !isRefusal(found)) {
        reporter.failed({ verb: 'list', resource: RESOURCE }, found)
        await sleep(clock, backoff.next(), signal)
        continue
      }
      reporter.succeeded(RESOURCE)
      const isMissing = found === 'missing' || found?.code === 404
      this.#setForbidden(isMissing ? undefined : found)
      if (found === undefined) {
        refusals = 0
        await this.#follow(signal)
        await sleep(clock, backoff.next(), signal)
        continue
      }
      refusals = isMissing === wasMissing ? refusals + 1 : 1
      wasMissing = isMissing
      if (isMissing && refusals > 1) this.#withdraw()
      onSettled()
      await sleep(clock, refusals === 1 ? RECHECK_MS.first : RECHECK_MS.further, signal)
    }
  }

  /** Why the policies cannot be listed; undefined if they can. */
  async #check(signal: AbortSignal): Promise<ApiFailure | 'missing' | undefined> {
    const { context } = this.#options
    const group = await context.client.get(`/apis/${GROUP}`, { signal })
    if (group.ok) {
      const versions = isJsonObject(group.value) ? arrayAt(group.value, 'versions') : []
      const isServed = versions.some((one) => stringAt(one, 'groupVersion') === VERSION)
      if (!isServed) return 'missing'
    } else if (group.failure.code !== 403) {
      return group.failure.code === 404 ? 'missing' : group.failure
    }
    return probeList(context, PATH, signal)
  }

  /** Follows the policies until `signal` is aborted or the server refuses them. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { context, onEvents, onSettled } = this.#options
    const ended = new AbortController()
    const end = (): void => ended.abort()
    const reflector = createFeed<ClusterNetworkPolicy | undefined>(
      { ...context, reporter: endingAtRefusal(context.reporter, end) },
      {
        name: RESOURCE,
        resource: { path: PATH, query: {} },
        decode: decodeClusterPolicy,
        earlier: this.#leftover,
        onChanges: (changes) =>
          onEvents(changes.map(({ key, value }) => ({ kind: 'clusterPolicy', key, value }))),
        onListed: onSettled,
      },
    )
    this.#reflector = reflector
    try {
      await reflector.run(AbortSignal.any([signal, ended.signal]))
    } finally {
      this.#leftover = [...reflector.keys()]
      this.#reflector = undefined
    }
  }

  #withdraw(): void {
    const names = this.#leftover
    this.#leftover = []
    const gone = names.map((key): PolicyEvent => ({ kind: 'clusterPolicy', key, value: undefined }))
    if (gone.length > 0) this.#options.onEvents(gone)
  }

  #setForbidden(failure: ApiFailure | undefined): void {
    if ((failure !== undefined) === this.#isForbidden) return
    this.#isForbidden = failure !== undefined
    this.#options.onForbidden(failure)
  }
}

function decodeClusterPolicy(raw: unknown): Decoded<ClusterNetworkPolicy | undefined> {
  if (!isJsonObject(raw)) return { ok: true, value: undefined, warnings: [] }
  const { policy, problems } = readClusterPolicy(raw)
  return { ok: true, value: policy, warnings: problems }
}
