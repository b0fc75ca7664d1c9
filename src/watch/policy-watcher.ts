import type { ApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/api-failures.ts'
import { createBackoff } from '../client/http/backoff.ts'
import { type ApiFailure, causeOf } from '../client/http/failure.ts'
import type { Reflector } from '../client/reflector/reflector.ts'
import { DEFAULT_TIMING, type ReflectorTiming } from '../client/reflector/reflector-context.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { isJsonObject, type Json, valueAt } from '../lib/json.ts'
import type { Random } from '../lib/random.ts'
import { readPolicy } from '../networkpolicy/read-policy.ts'
import { decodeClusterPod } from '../policy/cluster-pod.ts'
import type { PolicyEvent } from '../policy/policy-content.ts'
import type { Decoded } from '../resources/problem.ts'
import { ClusterPolicyFeed } from './cluster-policy-feed.ts'
import type { WatchedResource } from './cluster-watcher.ts'
import {
  createFeed,
  endingAtRefusal,
  type FeedContext,
  isRefusal,
  probeList,
  RECHECK_MS,
  type WatchProblem,
} from './feed.ts'

/** What policies depend on, in the order in which missing permissions are named. */
const POLICY_RESOURCES = ['networkpolicies', 'pods', 'namespaces'] as const

type PolicyResource = (typeof POLICY_RESOURCES)[number]

const PATHS: Readonly<Record<PolicyResource, string>> = {
  networkpolicies: '/apis/networking.k8s.io/v1/networkpolicies',
  pods: '/api/v1/pods',
  namespaces: '/api/v1/namespaces',
}

/** Resources that the server does not permit to list, or does not have (404). */
export interface PolicyRefusal {
  readonly resources: readonly (keyof typeof GROUPS)[]
  /** Of the first of `resources`. */
  readonly failure: ApiFailure
}

const GROUPS = {
  networkpolicies: 'networking.k8s.io',
  clusternetworkpolicies: 'policy.networking.k8s.io',
  pods: 'the core group',
  namespaces: 'the core group',
} as const

/** A refusal as a clause. */
export function describeRefusal({ resources, failure }: PolicyRefusal): string {
  const named = resources.map((name) => `${name} of ${GROUPS[name]}`).join(', ')
  return failure.code === 404
    ? `the API server does not have ${named} (${causeOf(failure)})`
    : `the right to list and watch ${named} is missing (${causeOf(failure)})`
}

/** What a policy watcher works with, and the callbacks that it calls. */
export interface PolicyWatcherOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly timing?: Partial<ReflectorTiming>
  /** Called with changes in their order, never with an empty batch. */
  readonly onEvents: (batch: readonly PolicyEvent[]) => void
  /** Called once, when everything was listed and passed to `onEvents`. */
  readonly onSynced: () => void
  readonly onProblem: (problem: WatchProblem) => void
  /** Called at each check that was refused: half a minute after the first one, then every five minutes. */
  readonly onRefused: (refusal: PolicyRefusal) => void
  /** Called when a check found everything permitted: at the start, and after refusals. */
  readonly onPermitted: () => void
  /**
   * Called when the server forbids ClusterNetworkPolicies that it has, and with undefined when that has ended. Everything
   * else is followed nevertheless.
   */
  readonly onClusterPoliciesForbidden: (failure: ApiFailure | undefined) => void
  readonly reporter: RequestReporter
}

/** See `createPolicyWatcher`. */
export interface PolicyWatcher {
  /** Follows the cluster until `signal` is aborted. Rejects only for a bug in a callback. */
  run(signal: AbortSignal): Promise<void>
  state(): readonly WatchedResource[]
}

/**
 * Follows all NetworkPolicies, Pods and namespaces, and ClusterNetworkPolicies where the server has them. The first three
 * are checked before they are followed, so that a server that refuses one of them need not send the others; and again
 * when a watch is refused. Meanwhile no change of them is reported.
 */
export function createPolicyWatcher(options: PolicyWatcherOptions): PolicyWatcher {
  const waiting = new Set<string>([...POLICY_RESOURCES, 'clusternetworkpolicies'])
  const onListed = (name: string): void => {
    if (waiting.delete(name) && waiting.size === 0) options.onSynced()
  }
  const feeds = new PolicyFeeds(options, onListed)
  const clusterPolicies = new ClusterPolicyFeed({
    context: contextOf(options),
    onEvents: options.onEvents,
    onSettled: () => onListed('clusternetworkpolicies'),
    onForbidden: options.onClusterPoliciesForbidden,
  })
  return {
    async run(signal) {
      const stop = new AbortController()
      const either = AbortSignal.any([signal, stop.signal])
      const all = [feeds, clusterPolicies]
      await Promise.all(all.map((one) => one.run(either).finally(() => stop.abort())))
    },
    state: () => [...feeds.state(), ...clusterPolicies.state()],
  }
}

function contextOf(options: PolicyWatcherOptions): FeedContext {
  return { ...options, timing: options.timing ?? {} }
}

class PolicyFeeds {
  readonly #options: PolicyWatcherOptions
  readonly #onListed: (name: PolicyResource) => void
  #reflectors = new Map<PolicyResource, Reflector>()

  constructor(options: PolicyWatcherOptions, onListed: (name: PolicyResource) => void) {
    this.#options = options
    this.#onListed = onListed
  }

  state(): readonly WatchedResource[] {
    return POLICY_RESOURCES.map((resource) => {
      return { resource, state: this.#reflectors.get(resource)?.state() }
    })
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, timing, reporter, onRefused, onPermitted } = this.#options
    const { backoffBaseMs: baseMs, backoffMaxMs: maxMs } = { ...DEFAULT_TIMING, ...timing }
    const backoff = createBackoff({ random, baseMs, maxMs })
    let refusals = 0
    while (!signal.aborted) {
      const { failed, refusal } = await this.#check(signal)
      if (signal.aborted) break
      if (failed) reporter.failed({ verb: 'list', resource: failed.resource }, failed.failure)
      if (refusal !== undefined) onRefused(refusal)
      refusals = refusal === undefined ? 0 : refusals + 1
      if (failed === undefined && refusal === undefined) {
        onPermitted()
        await this.#follow(signal)
      }
      const recheckMs = refusals === 1 ? RECHECK_MS.first : RECHECK_MS.further
      await sleep(clock, refusals === 0 ? backoff.next() : recheckMs, signal)
    }
  }

  async #check(signal: AbortSignal) {
    const { reporter } = this.#options
    const refused: PolicyResource[] = []
    let failure: ApiFailure | undefined
    for (const resource of POLICY_RESOURCES) {
      const found = await probeList(this.#context, PATHS[resource], signal)
      if (found === undefined) continue
      if (!isRefusal(found)) return { failed: { resource, failure: found }, refusal: undefined }
      reporter.succeeded(resource)
      refused.push(resource)
      failure ??= found
    }
    return { failed: undefined, refusal: failure && { resources: refused, failure } }
  }

  /** Follows all resources until `signal` is aborted or the server refuses one of them. */
  async #follow(signal: AbortSignal): Promise<void> {
    const ended = new AbortController()
    const end = (): void => ended.abort()
    const either = AbortSignal.any([signal, ended.signal])
    const reporter = endingAtRefusal(this.#options.reporter, end)
    const context: FeedContext = { ...this.#context, reporter }
    this.#reflectors = new Map(
      POLICY_RESOURCES.map((resource) => [resource, this.#feed(context, resource)]),
    )
    const all = [...this.#reflectors.values()]
    await Promise.all(all.map((reflector) => reflector.run(either).finally(end)))
  }

  get #context(): FeedContext {
    return contextOf(this.#options)
  }

  #feed(context: FeedContext, resource: PolicyResource): Reflector {
    if (resource === 'pods') {
      return this.#feedOf(context, resource, decodeClusterPod, (key, value) => {
        return { kind: 'pod', key, value }
      })
    }
    if (resource === 'namespaces') {
      return this.#feedOf(context, resource, decodeLabels, (name, labels) => {
        return { kind: 'namespace', name, labels }
      })
    }
    return this.#feedOf(context, resource, decodePolicy, (key, value) => {
      return { kind: 'policy', key, value }
    })
  }

  #feedOf<T>(
    context: FeedContext,
    name: PolicyResource,
    decode: (raw: unknown) => Decoded<T | undefined>,
    eventOf: (key: string, value: T | undefined) => PolicyEvent,
  ): Reflector {
    const { onEvents } = this.#options
    return createFeed<T>(context, {
      name,
      resource: { path: PATHS[name], query: {} },
      decode,
      earlier: this.#reflectors.get(name)?.keys() ?? [],
      onChanges: (changes) => onEvents(changes.map(({ key, value }) => eventOf(key, value))),
      onListed: () => this.#onListed(name),
    })
  }
}

/** The labels of a namespace; empty if it has none. */
function decodeLabels(raw: unknown): Decoded<Json> {
  const labels = isJsonObject(raw) ? valueAt(raw, 'metadata', 'labels') : undefined
  return { ok: true, value: labels ?? {}, warnings: [] }
}

function decodePolicy(raw: unknown): Decoded<ReturnType<typeof readPolicy> | undefined> {
  return { ok: true, value: isJsonObject(raw) ? readPolicy(raw) : undefined, warnings: [] }
}
