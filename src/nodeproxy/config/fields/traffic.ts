import { AFFINITY_SCOPES } from '../../../forwarding/node-context.ts'
import type { Cidr } from '../../../lib/ip.ts'
import {
  DETECT_LOCAL_MODES,
  MASQUERADE_PORTS,
} from '../../../modes/netfilter/settings/configuration.ts'
import { cidrList, cidrListSchema, cidrPair, splitCommas } from '../../../settings/network-types.ts'
import { boolean, duration, integer, oneOf, text } from '../../../settings/scalar-types.ts'
import { accept, refuse, type ValueType } from '../../../settings/value-type.ts'
import type { FieldsOf, PathsUnder } from './configuration.ts'
import { IPTABLES_VARIANTS } from './configuration.ts'

/** Limits and timeouts of the kernel's connection tracking. */
export const conntrackFields: FieldsOf<PathsUnder<'conntrack'>> = {
  'conntrack.maxPerCore': {
    flag: 'conntrack-max-per-core',
    type: integer(0, 1_048_576),
    fallback: 32_768,
    doc: 'Tracked connections per CPU core. The limit of the node is never lowered and never raised above 1048576. 0: leave it, whatever conntrack.min is.',
    reload: 'live',
  },
  'conntrack.min': {
    flag: 'conntrack-min',
    type: integer(0, 1_048_576),
    fallback: 131_072,
    doc: 'Tracked connections of the whole node at least, however few cores it has.',
    reload: 'live',
  },
  'conntrack.tcpEstablishedTimeout': {
    flag: 'conntrack-tcp-timeout-established',
    type: duration(),
    fallback: 86_400_000,
    doc: 'Idle time of established TCP connections. 0: as the kernel has it.',
    reload: 'live',
  },
  'conntrack.tcpCloseWaitTimeout': {
    flag: 'conntrack-tcp-timeout-close-wait',
    type: duration(),
    fallback: 3_600_000,
    doc: 'Idle time of TCP connections in CLOSE_WAIT. 0: as the kernel has it.',
    reload: 'live',
  },
  'conntrack.tcpBeLiberal': {
    flag: 'conntrack-tcp-be-liberal',
    type: boolean,
    fallback: false,
    doc: 'Accept TCP packets outside the window (nf_conntrack_tcp_be_liberal=1). False: as the kernel has it.',
    reload: 'live',
  },
  'conntrack.udpTimeout': {
    flag: 'conntrack-udp-timeout',
    type: duration(),
    fallback: 0,
    doc: 'Idle time of UDP flows without an answer. 0: as the kernel has it.',
    reload: 'live',
  },
  'conntrack.udpStreamTimeout': {
    flag: 'conntrack-udp-timeout-stream',
    type: duration(),
    fallback: 0,
    doc: 'Idle time of UDP flows with answers. 0: as the kernel has it.',
    reload: 'live',
  },
}

/** Settings of the rules that every mode writes; Kubernetes names them under `iptables`. */
export const netfilterFields: FieldsOf<
  | 'iptables.masqueradeBit'
  | 'iptables.masqueradeAll'
  | 'iptables.masqueradePorts'
  | 'iptables.localhostNodePorts'
  | 'iptables.backend'
> = {
  'iptables.masqueradeBit': {
    flag: 'iptables-masquerade-bit',
    type: integer(0, 31),
    fallback: 14,
    doc: 'The bit of the packet mark that requests masquerade. Other software on the node must leave it and the bit below alone.',
    reload: 'live',
  },
  'iptables.masqueradeAll': {
    flag: 'masquerade-all',
    type: boolean,
    fallback: false,
    doc: 'Masquerade everything sent to a cluster IP, also from pods.',
    reload: 'live',
  },
  'iptables.masqueradePorts': {
    flag: 'masquerade-ports',
    type: oneOf(MASQUERADE_PORTS),
    fallback: 'auto',
    doc: 'The source port of a masqueraded connection: keep its client’s where that is free, or choose one at random (--random-fully). auto: keep; random on kernels before Linux 5.0, which lose first packets where clients’ ports are equal. Measured in masquerade.md. The userspace mode masquerades nothing.',
    reload: 'live',
  },
  'iptables.localhostNodePorts': {
    flag: 'iptables-localhost-nodeports',
    type: boolean,
    fallback: false,
    doc: 'Serve node ports on 127.0.0.1 too. It needs route_localnet=1, which lets neighbours reach services that listen on loopback (CVE-2020-8558), so it is off here where kube-proxy has it on; when on, foreign packets for 127.0.0.0/8 are dropped. When it is turned off, or another mode takes over, the value found before is restored.',
    reload: 'live',
  },
  'iptables.backend': {
    flag: 'iptables-backend',
    type: oneOf(IPTABLES_VARIANTS),
    fallback: '',
    doc: 'Which iptables to use: nft or legacy. Empty: what the machine’s iptables command is.',
  },
}

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
    type: interfaceText(15),
    fallback: '',
    doc: 'The bridge that all pods of this node are attached to, for detectLocalMode BridgeInterface.',
    reload: 'live',
  },
  'detectLocal.interfaceNamePrefix': {
    flag: 'pod-interface-name-prefix',
    type: interfaceText(14),
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

/** A name, or the start of one, by the kernel's rule (dev_valid_name): at most IFNAMSIZ − 1 = 15 bytes. */
function interfaceText(maxLength: number): ValueType<string> {
  const pattern = new RegExp(`^[A-Za-z0-9._@-]{0,${maxLength}}$`)
  const remedy = `write an interface name: up to ${maxLength} letters, digits, ".", "_", "-" and "@"`
  return text(
    (name) => (pattern.test(name) && name !== '.' && name !== '..' ? undefined : remedy),
    pattern,
  )
}

/** A list of networks, or of one word alone, whose value is the word. */
function networksOr<W extends string>(word: W): ValueType<readonly Cidr[] | W> {
  const type: ValueType<readonly Cidr[] | W> = {
    name: `list of CIDRs, or exactly ["${word}"]`,
    schema: cidrListSchema(word),
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
