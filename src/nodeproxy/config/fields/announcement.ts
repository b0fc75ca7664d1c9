import { parseCommunity } from '../../../announcement/bgp/update.ts'
import { FAST_TIMING } from '../../../announcement/election-timing.ts'
import { parseIp } from '../../../lib/ip.ts'
import { isQualifiedName } from '../../../resources/names.ts'
import { mapList } from '../../../settings/map-list.ts'
import { ipAddress } from '../../../settings/network-types.ts'
import { boolean, duration, integer, listOf, text } from '../../../settings/scalar-types.ts'
import { refuse, type ValueType } from '../../../settings/value-type.ts'
import type { BgpPeerSettings, FieldsOf, PathsUnder } from './configuration.ts'

const INTERFACE = /^[A-Za-z0-9_.@-]{1,15}$/
/** Shorter durations would be those of a single request. */
const MIN_MS = 100

const MAX_ASN = 0xff_ff_ff_ff
/** So many fit into every message beside a route. */
const MAX_COMMUNITIES = 50
const COMMUNITY = /^([0-9]+(:[0-9]+){1,2}|[a-z-]+)$/
const communities: ValueType<readonly string[]> = atMost(
  MAX_COMMUNITIES,
  listOf(
    'list of communities',
    (item) =>
      parseCommunity(item) === undefined
        ? 'write a community such as 64512:100, a large one such as 64512:1:2, or no-export'
        : undefined,
    COMMUNITY,
  ),
)
const peers = mapList<BgpPeerSettings>('list of peers', {
  address: { type: ipAddress },
  asn: { type: integer(1, MAX_ASN) },
  port: { type: integer(1, 65_535), fallback: 179 },
  sourceAddress: { type: addressOrNone(), fallback: '' },
  communities: { type: communities, fallback: [] },
})

/** Whether and how this node announces load balancer addresses on its network, and to routers. */
export const announcementFields: FieldsOf<PathsUnder<'announcement'>> = {
  'announcement.layer2': {
    flag: 'announcement-layer2',
    type: boolean,
    fallback: false,
    doc: 'Whether this node takes part in announcing load balancer addresses on its network: it answers ARP and neighbour solicitations for its share of them, and takes those of a node that died; announcement.md. It needs rights for Leases of kube-system.',
    reload: 'live',
  },
  'announcement.interfaces': {
    flag: 'announcement-interfaces',
    type: listOf(
      'list of interfaces',
      (item) => (INTERFACE.test(item) ? undefined : 'write the name of an interface, such as eth0'),
      INTERFACE,
    ),
    fallback: [],
    doc: 'Interfaces at which addresses are announced: Ethernet, bonds, bridges or VLANs, no ports of them. Empty: those that have an address of the Node object.',
    reload: 'live',
  },
  'announcement.loadBalancerClass': {
    flag: 'announcement-load-balancer-class',
    type: text((name) =>
      name === '' || isQualifiedName(name) ? undefined : 'write a name such as example.com/layer2',
    ),
    fallback: '',
    doc: 'The spec.loadBalancerClass of the Services whose addresses are announced. Empty: Services without a class. All nodes that announce the same Services need the same class.',
    reload: 'live',
  },
  'announcement.leaseDuration': {
    flag: 'announcement-lease-duration',
    type: duration(MIN_MS),
    fallback: FAST_TIMING.leaseDuration,
    doc: 'How long other nodes wait after the last renewal that they saw before they take an address over. Short durations cost writes: announcement.md#timing.',
    reload: 'live',
  },
  'announcement.renewDeadline': {
    flag: 'announcement-renew-deadline',
    type: duration(MIN_MS),
    fallback: FAST_TIMING.renewDeadline,
    doc: 'How long this node answers for an address after the start of its last successful renewal: at most 80 % of leaseDuration. Without an API server an address is silent after it.',
    reload: 'live',
  },
  'announcement.renewInterval': {
    flag: 'announcement-renew-interval',
    type: duration(MIN_MS),
    fallback: FAST_TIMING.renewInterval,
    doc: 'How often this node renews the Lease of each address that it announces: at most two thirds of renewDeadline.',
    reload: 'live',
  },
  'announcement.bgp.localASN': {
    flag: 'announcement-bgp-local-asn',
    type: integer(0, MAX_ASN),
    fallback: 0,
    doc: 'The AS number of this node, of four octets; needed with announcement.bgp.peers. 0: none.',
    reload: 'live',
  },
  'announcement.bgp.routerID': {
    flag: 'announcement-bgp-router-id',
    type: addressOrNone(4),
    fallback: '',
    doc: 'The BGP identifier of this node, as an IPv4 address that no other speaker has. Empty: the first IPv4 address of the Node object.',
    reload: 'live',
  },
  'announcement.bgp.holdTime': {
    flag: 'announcement-bgp-hold-time',
    type: wholeSeconds(3, 65_535),
    fallback: 9_000,
    doc: 'How long a router waits for a message before it drops the routes of this node; the shorter of its own time and this one counts. Keepalives go out three times as often.',
    reload: 'live',
  },
  'announcement.bgp.connectRetry': {
    flag: 'announcement-bgp-connect-retry',
    type: duration(MIN_MS),
    fallback: 5_000,
    doc: 'How long a connection to a peer may take, and when it is tried again after a session ended.',
    reload: 'live',
  },
  'announcement.bgp.communities': {
    flag: 'announcement-bgp-communities',
    type: communities,
    fallback: [],
    doc: 'Communities of every route: 64512:100, large ones as 64512:1:2, no-export, no-advertise, graceful-shutdown or blackhole.',
    reload: 'live',
  },
  'announcement.bgp.peers': {
    flag: 'announcement-bgp-peers',
    type: peers,
    fallback: [],
    doc: 'The routers to which this node announces load balancer addresses by BGP; empty: it does not. Each has address and asn, and may have port, sourceAddress and communities; announcement.md#bgp. A flag has one as JSON.',
    reload: 'live',
  },
}

/** A list of at most so many items. */
function atMost(most: number, type: ValueType<readonly string[]>): ValueType<readonly string[]> {
  const limit = (decoded: ReturnType<typeof type.decode>) =>
    decoded.ok && decoded.value.length > most ? refuse(`write at most ${most} items`) : decoded
  return {
    ...type,
    schema: { ...type.schema, maxItems: most },
    decode: (raw) => limit(type.decode(raw)),
    fromFlag: (flag) => limit(type.fromFlag(flag)),
  }
}

/** An IP address, of one family if it is given, or empty for none. */
function addressOrNone(family?: 4): ValueType<string> {
  const remedy = family === undefined ? 'write an IP address' : 'write an IPv4 address'
  return text((address) => {
    const isAddress = parseIp(address) !== undefined && !(family === 4 && address.includes(':'))
    return address === '' || (isAddress && address !== '0.0.0.0') ? undefined : `${remedy}, or ""`
  })
}

/** A duration of whole seconds within bounds, both included, decoded to milliseconds. */
function wholeSeconds(min: number, max: number): ValueType<number> {
  const type = duration(min * 1_000)
  const check = (decoded: ReturnType<typeof type.decode>) =>
    decoded.ok && (decoded.value % 1_000 !== 0 || decoded.value > max * 1_000)
      ? refuse(`write whole seconds, at most ${max}s`)
      : decoded
  return {
    ...type,
    decode: (raw) => check(type.decode(raw)),
    fromFlag: (flag) => check(type.fromFlag(flag)),
  }
}
