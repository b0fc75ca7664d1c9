import type { Family } from '../../lib/ip.ts'
import type { JumpObject } from '../netfilter/chains/object.ts'
import type { Table } from '../netfilter/chains/place.ts'
import { forward, martians } from '../netfilter/forward.ts'
import { isHairpinOffLoopback } from '../netfilter/hairpin.ts'
import { FROM_NODE, fromPods, notFromPods } from '../netfilter/local-traffic.ts'
import { isRouted, routingBit, setMark } from '../netfilter/mark.ts'
import { postrouting } from '../netfilter/postrouting.ts'
import { answeringJumps, portUnreachable, serviceRanges } from '../netfilter/service-ranges.ts'
import { setMatches } from '../netfilter/set-text.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { CHAIN, type SetRole, setName } from './objects/names.ts'
import { markPattern } from './objects/short-circuit-mark.ts'

/** One chain of ours with its rules, in order, as `iptables-save` writes them. */
interface BaseChain {
  readonly table: Table
  readonly chain: string
  readonly rules: readonly string[]
}

const NEW = '-m conntrack --ctstate NEW '
const NOT_SYN = '-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN '

/** All chains. They do not depend on the Services: what differs between Services is in sets. */
export function chains(settings: NetfilterSettings, family: Family): readonly BaseChain[] {
  const guard = martians(settings, family)
  const unless = sets(family).isNotIn('SERVICES')
  const ranges = serviceRanges(settings, family, { filter: CHAIN.filter, unless })
  return [
    ...arrival(settings, family),
    ...departure(settings, family),
    { table: 'nat', chain: CHAIN.masquerade, rules: masquerade(settings, family) },
    {
      table: 'nat',
      chain: CHAIN.postrouting,
      rules: postrouting(settings, family, isHairpinOffLoopback),
    },
    { table: 'filter', chain: CHAIN.filter, rules: answers(family) },
    { table: 'filter', chain: CHAIN.forward, rules: forward(settings) },
    ...(ranges.length > 0
      ? [{ table: 'filter', chain: CHAIN.ranges, rules: ranges } as const]
      : []),
    ...(guard.length > 0
      ? [{ table: 'filter', chain: CHAIN.martians, rules: guard } as const]
      : []),
  ]
}

/** Our rules in the built-in chains. */
export function jumps(settings: NetfilterSettings, family: Family): readonly JumpObject[] {
  const rules: readonly (readonly [Table, string, string])[] = [
    ['mangle', 'PREROUTING', `-j ${CHAIN.route}`],
    ['mangle', 'INPUT', `-j ${CHAIN.input}`],
    ['mangle', 'OUTPUT', `-j ${CHAIN.output}`],
    ['nat', 'PREROUTING', `-j ${CHAIN.masquerade}`],
    ['nat', 'OUTPUT', `-j ${CHAIN.masquerade}`],
    ['nat', 'POSTROUTING', `-j ${CHAIN.postrouting}`],
    ...answeringJumps(settings, family, CHAIN).map(
      ({ chain, rule }) => ['filter', chain, rule] as const,
    ),
    ['filter', 'FORWARD', `-j ${CHAIN.forward}`],
    ...(martians(settings, family).length > 0
      ? [['filter', 'INPUT', `-j ${CHAIN.martians}`] as const]
      : []),
  ]
  return rules.map(([table, chain, rule]) => ({ kind: 'jump', family, table, chain, rule }))
}

/**
 * Incoming packets. Those for a Service get the routing bit, by which the policy route delivers them to this node,
 * where IPVS takes them: the address of a Service is never an address of the node. A connection that other rules
 * translate is left to them. So are the replies to a connection that masquerading gave a source port which a Service
 * has on this node.
 */
function arrival(settings: NetfilterSettings, family: Family): readonly BaseChain[] {
  const { isIn, isNotIn } = sets(family)
  const pods = fromPods(settings, family)
  const shortCircuit = pods && `${pods.source}${pods.interface}`
  const bit = hex(routingBit(settings))
  const icmp = family === 4 ? '-p icmp ' : '-p ipv6-icmp '
  const related = '-m conntrack --ctstate RELATED '
  return [
    {
      table: 'mangle',
      chain: CHAIN.route,
      rules: [
        `${icmp}${related}${isIn('VIPS', 'dst')}-g ${CHAIN.take}`,
        `-m conntrack ! --ctstate NEW ${isIn('LEAVING')}-g ${CHAIN.take}`,
        `${isNotIn('SERVICES')}-j RETURN`,
        `${NEW}-g ${CHAIN.fresh}`,
        `-g ${CHAIN.take}`,
      ],
    },
    {
      table: 'mangle',
      chain: CHAIN.fresh,
      rules: [
        `${isIn('PAUSED')}-j DROP`,
        outsideRanges(family),
        ...dropped(settings, family),
        `${isIn('REJECT')}-j RETURN`,
        `-g ${CHAIN.take}`,
      ],
    },
    {
      table: 'mangle',
      chain: CHAIN.take,
      rules: [
        '-m conntrack --ctstate SNAT --ctdir REPLY -j RETURN',
        `-m conntrack ! --ctstate DNAT -j MARK --set-xmark ${bit}/${bit}`,
      ],
    },
    {
      table: 'mangle',
      chain: CHAIN.input,
      rules: [
        `${isRouted(settings)}-j MARK --set-xmark 0x0/${bit}`,
        ...(shortCircuit === undefined
          ? []
          : [`${shortCircuit}${NEW}${isIn('SHORTCUT')}${mapMark(family)}`]),
      ],
    },
  ]
}

/**
 * Packets that are dropped without an answer. Those of pods that take the short circuit are not. SHORTCUT is looked up
 * a second time together with DROP: a packet that is in the chain while members of both are added may have missed it
 * the first time.
 */
function dropped(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = sets(family)
  const pods = fromPods(settings, family)
  if (pods === undefined) return [`${isIn('DROP')}-j DROP`]
  const others = notFromPods(settings, family)
  const by = pods.source + pods.interface
  return [
    `${by}${isIn('SHORTCUT')}-g ${CHAIN.take}`,
    `${by}${isIn('DROP')}${isNotIn('SHORTCUT')}-j DROP`,
    ...(others ? [`${others.source}${others.interface}${isIn('DROP')}-j DROP`] : []),
  ]
}

/**
 * Packets of this node's processes, which IPVS takes in OUTPUT. Packets that IPVS has sent on pass here a second time:
 * the mark of a short circuit is then cleared. The node's own packets are masqueraded in that case, because the
 * endpoint may be on another node.
 */
function departure(settings: NetfilterSettings, family: Family): readonly BaseChain[] {
  const { isIn, isNotIn } = sets(family)
  const shortCircuit = isShortCircuit(settings)
  const masquerade = hex(2 ** settings.masqueradeBit)
  const rules = [
    `${shortCircuit}${FROM_NODE}-j MARK --set-xmark ${masquerade}/0xffffffff`,
    `${shortCircuit}-j MARK --set-xmark 0x0/0xffffffff`,
    `${isNotIn('SERVICES')}-j RETURN`,
    '-m conntrack ! --ctstate NEW -j RETURN',
    `${isIn('PAUSED')}-j DROP`,
    outsideRanges(family),
    `${isIn('DROP')}${isNotIn('SHORTCUT')}${isIn('DROP')}-j DROP`,
    `${isIn('SHORTCUT')}${mapMark(family)}`,
  ]
  return [{ table: 'mangle', chain: CHAIN.output, rules }]
}

/**
 * Marks the packets that will be masqueraded. This does not depend on SERVICES, because a virtual server at an address
 * of this node gets packets before its point is in that set. Packets to a virtual server end here, so that no other
 * rule translates them as well. This includes packets that this node sends, which IPVS takes after these rules. The
 * mark of a short circuit must stay as it is for IPVS.
 */
function masquerade(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = sets(family)
  const offCluster = settings.masqueradeAll
    ? { source: '', interface: '' }
    : notFromPods(settings, family)
  const plain = isNotIn('MASQUERADE') + isNotIn('ONNODE')
  return [
    `${isShortCircuit(settings)}-j ACCEPT`,
    isIn('MASQUERADE') + setMark(settings),
    isIn('ONNODE') + FROM_NODE + setMark(settings),
    `${isNotIn('SERVICES')}-j RETURN`,
    ...(offCluster ? [offCluster.source + offCluster.interface + plain + setMark(settings)] : []),
    `${isRouted(settings)}-j ACCEPT`,
    `${isNotIn('REJECT')}${FROM_NODE}-j ACCEPT`,
  ]
}

/**
 * Answers to new connections that no virtual server takes. A packet from the middle of a TCP connection that conntrack
 * does not know belongs to a connection that IPVS has dropped: this rule resets it, because this node has no socket
 * that would. While connections of a deleted Service still go on, new ones are refused: if they were passed on, they
 * could not be distinguished from the old ones.
 */
function answers(family: Family): readonly string[] {
  const { isIn, isNotIn } = sets(family)
  return [
    `${isIn('ADMIT')}-j ACCEPT`,
    `${NOT_SYN}${isIn('SERVICES')}-j REJECT --reject-with tcp-reset`,
    `${isNotIn('REJECT')}${isNotIn('LEAVING')}-j RETURN`,
    `${isNotIn('REJECT')}${isIn('SERVICES')}-j RETURN`,
    '-p tcp -j REJECT --reject-with tcp-reset',
    `-j REJECT --reject-with ${portUnreachable(family)}`,
  ]
}

/**
 * RANGED is looked up a second time: while the ranges of a point are being removed, a packet may find the point in
 * RANGED and then no longer find its source in ALLOWED.
 */
function outsideRanges(family: Family): string {
  const { isIn, isNotIn } = sets(family)
  return `${isIn('RANGED')}${isNotIn('ALLOWED', 'dst,dst,src')}${isIn('RANGED')}-j DROP`
}

function mapMark(family: Family): string {
  return `-j SET --map-set ${setName(family, 'SHORTCUT')} dst,dst --map-mark`
}

function isShortCircuit(settings: NetfilterSettings): string {
  const { mask, value } = markPattern(settings)
  return `-m mark --mark ${hex(value)}/${hex(mask)} `
}

function sets(family: Family) {
  return setMatches((role: SetRole) => setName(family, role))
}

function hex(mark: number): string {
  return `0x${mark.toString(16)}`
}
