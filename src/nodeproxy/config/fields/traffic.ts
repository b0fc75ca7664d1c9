import { AFFINITY_SCOPES } from '../../../forwarding/node-context.ts'
import type { Cidr } from '../../../lib/ip.ts'
import { DETECT_LOCAL_MODES } from '../../../modes/netfilter/settings/configuration.ts'
import { cidrList, cidrPair, splitCommas } from '../../../settings/network-types.ts'
import { oneOf, text } from '../../../settings/scalar-types.ts'
import { accept, refuse, type ValueType } from '../../../settings/value-type.ts'
import type { FieldsOf, PathsUnder } from './field.ts'

/** Networks; or `primary`, the addresses of the Node object, which files write as `["primary"]`. */
export const nodePortAddresses = networksOr('primary')

/** Networks; or `none`, which files write as `["none"]`. */
export const serviceCIDRs = networksOr('none')

/** How traffic of local pods is recognised, and which addresses are served. */
export const trafficFields: FieldsOf<
  | 'detectLocalMode'
  | PathsUnder<'detectLocal'>
  | 'clusterCIDR'
  | 'nodePortAddresses'
  | 'serviceCIDRs'
  | 'allowedExternalIPs'
  | 'affinityScope'
> = {
  detectLocalMode: {
    flag: 'detect-local-mode',
    type: oneOf(DETECT_LOCAL_MODES),
    fallback: '',
    doc: 'How packets of this node’s pods are distinguished from others. Empty: ClusterCIDR.',
    reload: 'live',
    zeroIsUnset: true,
  },
  'detectLocal.bridgeInterface': {
    flag: 'pod-bridge-interface',
    type: text(checkInterface(15)),
    fallback: '',
    doc: 'The bridge that all pods of this node are attached to, for detectLocalMode BridgeInterface.',
    reload: 'live',
  },
  'detectLocal.interfaceNamePrefix': {
    flag: 'pod-interface-name-prefix',
    type: text(checkInterface(14)),
    fallback: '',
    doc: 'How the names of pod interfaces start, for detectLocalMode InterfaceNamePrefix.',
    reload: 'live',
  },
  clusterCIDR: {
    flag: 'cluster-cidr',
    type: cidrPair,
    fallback: [],
    doc: 'The network of all pods, for detectLocalMode ClusterCIDR: packets from elsewhere to a cluster IP are masqueraded. Empty: every source counts as a pod.',
    reload: 'live',
  },
  nodePortAddresses: {
    flag: 'nodeport-addresses',
    type: nodePortAddresses,
    fallback: [],
    doc: 'Node ports and health check node ports are served on the node’s addresses in these networks. Empty: on all of them. ["primary"]: on those of the Node object, and on none while it is missing or has none.',
    reload: 'live',
  },
  serviceCIDRs: {
    flag: 'service-cidrs',
    type: serviceCIDRs,
    fallback: [],
    doc: 'New connections to an address of these networks that no Service has, or to a port that a Service does not have, are refused at once. Empty: the networks of the ServiceCIDR objects, where the API server has them and they may be listed. ["none"]: nothing is refused for that reason.',
    reload: 'live',
  },
  allowedExternalIPs: {
    flag: 'allowed-external-ips',
    type: cidrList,
    fallback: [],
    doc: 'External IPs outside these networks are refused, with an event. Empty: all are allowed (CVE-2020-8554: then every client that may write a Service can draw traffic).',
    reload: 'live',
  },
  affinityScope: {
    flag: 'affinity-scope',
    type: oneOf(AFFINITY_SCOPES),
    fallback: 'service',
    doc: 'What a client of a Service with sessionAffinity ClientIP sticks to: one Pod for all ports of the Service (service), or an endpoint for each of its ports (port, as kube-proxy). docs/semantics.md names the modes that cannot do the former.',
    reload: 'live',
  },
}

/** Checks a name, or the start of one, by the kernel's rule (dev_valid_name): at most IFNAMSIZ − 1 = 15 bytes. */
function checkInterface(maxLength: number): (name: string) => string | undefined {
  return (name) =>
    name.length <= maxLength && /^[A-Za-z0-9._@-]*$/.test(name) && name !== '.' && name !== '..'
      ? undefined
      : `write an interface name: up to ${maxLength} letters, digits, ".", "_", "-" and "@"`
}

/** A list of networks, or of one word alone, whose value is the word. */
function networksOr<W extends string>(word: W): ValueType<readonly Cidr[] | W> {
  const type: ValueType<readonly Cidr[] | W> = {
    name: `list of CIDRs, or exactly ["${word}"]`,
    isList: true,
    decode(raw) {
      if (!Array.isArray(raw)) return refuse(`write a list of networks, or ["${word}"]`)
      if (raw.length === 1 && raw[0] === word) return accept(word)
      return raw.includes(word)
        ? refuse(`"${word}" stands alone: write ["${word}"], or networks without it`)
        : cidrList.decode(raw)
    },
    fromFlag: (text) => type.decode(splitCommas(text)),
    encode: (value) => (value === word ? [word] : value),
  }
  return type
}
