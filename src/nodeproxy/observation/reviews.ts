import type { Cidr } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import type { ConditionSink, ModeReview } from '../../modes/definition/mode-view.ts'
import type { KernelError, ObjectKey } from '../../modes/mode.ts'
import { serviceRanges } from '../../modes/netfilter/settings/netfilter-settings.ts'
import type { Node, Service, ServiceKey } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import type { Engine, Running } from '../engine/engine.ts'
import type { Modes } from '../modes/modes.ts'

/** What `Reviews` reads. */
interface ReviewsParts {
  readonly configuration: { readonly current: NodeProxyConfiguration }
  readonly modes: Pick<Modes, 'current' | 'others'>
  readonly nodeName: string
  readonly conditions: Conditions
  readonly log: Pick<Logger, 'info'>
  readonly engine: () => Pick<Engine, 'running'> & {
    readonly store: Pick<Engine['store'], 'node' | 'service' | 'serviceCIDRs' | 'counts'>
  }
}

/**
 * Raises and clears conditions when the configuration, the cluster or the kernel change. Does nothing until the
 * cluster is listed.
 */
export class Reviews {
  readonly #parts: ReviewsParts
  /** Whether the rules were complete once, and this was logged. */
  #isComplete = false

  constructor(parts: ReviewsParts) {
    this.#parts = parts
  }

  /** To be called when the Node object, the Service ranges or the configuration changed. */
  node(): void {
    const { configuration, conditions, nodeName, engine } = this.#parts
    const { running, store } = engine()
    if (running === undefined) return
    const { serviceCIDRs } = store
    const node = store.node(nodeName)
    reviewNode(conditions, { config: configuration.current, nodeName, node, serviceCIDRs })
  }

  /** To be called when Services or the configuration changed. */
  services(): void {
    const { configuration, conditions, modes } = this.#parts
    const { running, store } = this.#parts.engine()
    if (running === undefined) return
    const config = configuration.current
    const serviceOf = (key: ServiceKey): Service | undefined => store.service(key)
    for (const { name, review } of [modes.current, ...modes.others]) {
      review?.services(conditions, { config, isAtWork: name === running.mode.name, serviceOf })
    }
  }

  /** To be called when a run of the sync loop ended. */
  applied(): void {
    const { conditions, modes, engine } = this.#parts
    const { running } = engine()
    if (running === undefined) return
    const reviews = [modes.current, ...modes.others].flatMap(({ review }) => review ?? [])
    reviewKernelErrors(conditions, reviews, running.tracker.failures())
  }

  /** To be called when a mode has all its objects in the kernel. The first call is logged. */
  completed(): void {
    const { running, store } = this.#parts.engine()
    if (running === undefined || this.#isComplete) return
    this.#isComplete = true
    this.#log(running, store.counts.services)
  }

  #log(running: Running, services: number): void {
    const secondsSinceStart = Number(process.uptime().toFixed(3))
    const facts = { ...ruleCounts(running, services), secondsSinceStart }
    this.#parts.log.info(facts, 'the rules are in the kernel for the first time')
  }
}

/** The fields of the log record of the first complete run of a mode. */
function ruleCounts(
  { mode, table, tracker }: Running,
  services: number,
): Readonly<Record<string, number | string>> {
  let [entries, frontends, endpoints] = [0, 0, 0]
  for (const { frontends: own, pools } of table.entries()) {
    entries++
    frontends += own.length
    // An endpoint of two Services counts twice: a set of hundreds of thousands of endpoints would delay the record.
    endpoints += Math.max(pools.cluster.length, pools.local.length)
  }
  const objects = [...tracker.wantedKeys()].length
  const refused = tracker.failures().size
  return {
    mode: mode.name,
    services,
    entries,
    frontends,
    endpoints,
    objects,
    refused,
  }
}

/** The reason of the condition that `reviewKernelErrors` raises. */
const REFUSALS = 'kernel-refusals'

/**
 * Raises a condition while the kernel refuses objects, and clears it when it refuses none. Errors that the
 * configuration of a mode causes are not part of this condition: the review of the mode reports them. The condition
 * does not block readiness: otherwise the owner of a single Service could stop a rollout.
 * @param reviews those of all modes that have one
 * @param failures the objects that the kernel refuses, by their key
 */
export function reviewKernelErrors(
  conditions: ConditionSink,
  reviews: readonly ModeReview[],
  failures: ReadonlyMap<ObjectKey, { readonly refusal: KernelError }>,
): void {
  const errors = [...failures].map(([key, { refusal }]) => ({ key, ...refusal }))
  for (const review of reviews) {
    const messages = errors.filter((error) => review.isConfigured(error))
    const unique = [...new Set(messages.map(({ message }) => message))].toSorted()
    review.configuredErrors(conditions, unique)
  }
  const isConfigured = (error: KernelError) => reviews.some((review) => review.isConfigured(error))
  const [first, ...more] = errors.filter((error) => !isConfigured(error))
  if (first === undefined) return conditions.clear(REFUSALS)
  conditions.raise(REFUSALS, {
    blocksReadiness: false,
    message: `the kernel refuses ${first.key}${more.length > 0 ? ' and others' : ''} (${first.code}: ${first.message}); the row of the code in docs/errors.md has the remedy`,
  })
}

/** The input of `reviewNode`: the configuration, and what the API server has about this node. */
export interface KnownNode {
  readonly config: Pick<
    NodeProxyConfiguration,
    'nodePortAddresses' | 'detectLocalMode' | 'clusterCIDR' | 'serviceCIDRs'
  >
  readonly nodeName: string
  /** The Node object; undefined if the API server has none of this name. */
  readonly node: Node | undefined
  /** The Service ranges of the API server. */
  readonly serviceCIDRs: readonly Cidr[]
}

/** The reasons of the conditions that `reviewNode` raises. */
const ADDRESSES_UNKNOWN = 'node-port-addresses-unknown'
const PODS_UNKNOWN = 'pod-networks-unknown'
const CLUSTER_UNKNOWN = 'cluster-cidr-unset'
const RANGES_OVERLAP = 'service-ranges-overlap'

const CLUSTER_MESSAGE =
  'every source counts as a pod, and packets from outside the cluster to cluster IPs are not masqueraded: detectLocalMode is ClusterCIDR and clusterCIDR is empty; set clusterCIDR'

/**
 * Raises conditions for a configuration that does not fit the node, and clears those that no longer apply. A field of
 * the Node object that the configuration requires and that is missing blocks readiness: so a rollout with a wrong node
 * name stops at its first node. (Traffic does not depend on readiness.) Two conditions do not block readiness:
 * detectLocalMode ClusterCIDR without clusterCIDR, and Service ranges with addresses of this node or of Pods.
 */
export function reviewNode(
  conditions: Pick<Conditions, 'raise' | 'clear'>,
  { config, nodeName, node, serviceCIDRs }: KnownNode,
): void {
  const review = (reason: string, message: string | undefined, blocksReadiness = true) => {
    if (message === undefined) conditions.clear(reason)
    else conditions.raise(reason, { message, blocksReadiness })
  }
  review(
    ADDRESSES_UNKNOWN,
    config.nodePortAddresses === 'primary' && (node?.addresses.length ?? 0) === 0
      ? `no address serves node ports and health check node ports: nodePortAddresses is ["primary"] and ${missingField(nodeName, node, 'InternalIP or ExternalIP in status.addresses')}`
      : undefined,
  )
  review(
    PODS_UNKNOWN,
    config.detectLocalMode === 'NodeCIDR' && (node?.podCIDRs.length ?? 0) === 0
      ? `no source counts as a pod, and packets from outside the cluster to cluster IPs are not masqueraded: detectLocalMode is NodeCIDR and ${missingField(nodeName, node, 'spec.podCIDRs')}`
      : undefined,
  )
  const isUnset = config.detectLocalMode === 'ClusterCIDR' && config.clusterCIDR.length === 0
  review(CLUSTER_UNKNOWN, isUnset ? CLUSTER_MESSAGE : undefined, false)
  review(RANGES_OVERLAP, overlapMessage({ config, node, serviceCIDRs }), false)
}

/** The message about Service ranges that overlap other networks; undefined if none does. */
function overlapMessage(known: Omit<KnownNode, 'nodeName'>): string | undefined {
  const { ofNode, ofPods } = serviceRanges(known)
  const findings = [
    ...ofNode.map(
      (one) => `the Service range ${one} has an address of this node: nothing in it is refused`,
    ),
    ...ofPods.map(
      (one) =>
        `the Service range ${one} overlaps networks of Pods: their addresses are not refused`,
    ),
  ]
  const remedy = 'set serviceCIDRs to networks that only Services have'
  return findings.length === 0 ? undefined : `${findings.join('; ')}; ${remedy}`
}

/** Part of a message: that the Node object, or this field of it, is missing, and what to do. */
function missingField(nodeName: string, node: Node | undefined, field: string): string {
  const name = quote(nodeName)
  return node === undefined
    ? `Node ${name} does not exist; create it, or correct hostnameOverride`
    : `Node ${name} has no ${field}; the kubelet or the cloud controller has to set it`
}
