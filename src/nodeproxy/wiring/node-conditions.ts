import type { Cidr } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { serviceRanges } from '../../modes/netfilter/settings/netfilter-settings.ts'
import type { Node } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'

/** The configuration, and the Node that it refers to. */
export interface KnownNode {
  readonly config: Pick<
    NodeProxyConfiguration,
    'nodePortAddresses' | 'detectLocalMode' | 'clusterCIDR' | 'serviceCIDRs'
  >
  readonly nodeName: string
  /** Undefined: the API server has no such object. */
  readonly node: Node | undefined
  /** The Service ranges of the API server. */
  readonly serviceCIDRs: readonly Cidr[]
}

const ADDRESSES_UNKNOWN = 'node-port-addresses-unknown'
const PODS_UNKNOWN = 'pod-networks-unknown'
const CLUSTER_UNKNOWN = 'cluster-cidr-unset'
const RANGES_OVERLAP = 'service-ranges-overlap'

/**
 * Raises conditions for fields of the Node object that the configuration requires and that are missing. They block
 * readiness, so that a rollout with a wrong node name stops at its first node; traffic does not depend on
 * readiness. detectLocalMode ClusterCIDR without clusterCIDR, and Service ranges with addresses of nodes or Pods, are
 * conditions that do not block it.
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

const CLUSTER_MESSAGE =
  'every source counts as a pod, and packets from outside the cluster to cluster IPs are not masqueraded: detectLocalMode is ClusterCIDR and clusterCIDR is empty; set clusterCIDR'

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

function missingField(nodeName: string, node: Node | undefined, field: string): string {
  const name = quote(nodeName)
  return node === undefined
    ? `Node ${name} does not exist; create it, or correct hostnameOverride`
    : `Node ${name} has no ${field}; the kubelet or the cloud controller has to set it`
}
