import type { Family } from '../../lib/ip.ts'
import { outsideRanges } from '../netfilter/arrival.ts'
import type { FamilyRules, RulesByChain } from '../netfilter/chains/base-rules.ts'
import {
  filterJumps,
  forward,
  martians,
  portUnreachable,
  serviceRanges,
} from '../netfilter/filter-rules.ts'
import { FROM_NODE, sources } from '../netfilter/local-traffic.ts'
import { clearRouted, isRouted, setMark, setRouted } from '../netfilter/mark.ts'
import { isHairpinOffLoopback, postrouting } from '../netfilter/postrouting.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { CHAIN, SETS } from './objects/names.ts'
import { markPattern } from './objects/short-circuit-mark.ts'

const NEW = '-m conntrack --ctstate NEW '
const NOT_SYN = '-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN '

/**
 * All chains, however many Services there are, as what differs between Services is in sets; and our rules in the
 * built-in ones.
 */
export function baseRules(settings: NetfilterSettings, family: Family): FamilyRules {
  const unless = SETS[family].isNotIn('SERVICES')
  return {
    family,
    chains: {
      mangle: { ...arrival(settings, family), [CHAIN.output]: departure(settings, family) },
      nat: {
        [CHAIN.masquerade]: masquerade(settings, family),
        [CHAIN.postrouting]: postrouting(settings, family, isHairpinOffLoopback(family)),
      },
      filter: {
        [CHAIN.filter]: answers(family),
        [CHAIN.forward]: forward(settings),
        [CHAIN.ranges]: serviceRanges(settings, family, { filter: CHAIN.filter, unless }),
        [CHAIN.martians]: martians(settings, family),
      },
    },
    jumps: [
      ['mangle', 'PREROUTING', `-j ${CHAIN.route}`],
      ['mangle', 'INPUT', `-j ${CHAIN.input}`],
      ['mangle', 'OUTPUT', `-j ${CHAIN.output}`],
      ['nat', 'PREROUTING', `-j ${CHAIN.masquerade}`],
      ['nat', 'OUTPUT', `-j ${CHAIN.masquerade}`],
      ['nat', 'POSTROUTING', `-j ${CHAIN.postrouting}`],
      ...filterJumps(settings, family, CHAIN),
    ],
  }
}

/**
 * Incoming packets. Those for a Service get the routing bit, by which the policy route delivers them to this node,
 * where IPVS takes them: the address of a Service is never an address of the node. A connection that other rules
 * translate is left to them. So are the replies to a connection that masquerading gave a source port which a Service
 * has on this node.
 */
function arrival(settings: NetfilterSettings, family: Family): RulesByChain {
  const { isIn, isNotIn } = SETS[family]
  const { pods } = sources(settings, family)
  const icmp = family === 4 ? '-p icmp ' : '-p ipv6-icmp '
  const related = '-m conntrack --ctstate RELATED '
  return {
    [CHAIN.route]: [
      `${icmp}${related}${isIn('VIPS', 'dst')}-g ${CHAIN.take}`,
      `-m conntrack ! --ctstate NEW ${isIn('LEAVING')}-g ${CHAIN.take}`,
      `${isNotIn('SERVICES')}-j RETURN`,
      `${NEW}-g ${CHAIN.fresh}`,
      `-g ${CHAIN.take}`,
    ],
    [CHAIN.fresh]: [
      `${isIn('PAUSED')}-j DROP`,
      outsideRanges(SETS[family]),
      ...dropped(settings, family),
      `${isIn('REJECT')}-j RETURN`,
      `-g ${CHAIN.take}`,
    ],
    [CHAIN.take]: [
      '-m conntrack --ctstate SNAT --ctdir REPLY -j RETURN',
      `-m conntrack ! --ctstate DNAT ${setRouted(settings)}`,
    ],
    [CHAIN.input]: [
      isRouted(settings) + clearRouted(settings),
      ...pods.map((from) => `${from}${NEW}${isIn('SHORTCUT')}${mapMark(family)}`),
    ],
  }
}

/**
 * Packets that are dropped without an answer. Those of pods that take the short circuit are not. SHORTCUT is looked up
 * a second time together with DROP: a packet that is in the chain while members of both are added may have missed it
 * the first time.
 */
function dropped(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = SETS[family]
  const { pods, others } = sources(settings, family)
  if (pods.length === 0) return [`${isIn('DROP')}-j DROP`]
  return [
    ...pods.map((from) => `${from}${isIn('SHORTCUT')}-g ${CHAIN.take}`),
    ...pods.map((from) => `${from}${isIn('DROP')}${isNotIn('SHORTCUT')}-j DROP`),
    ...others.map((from) => `${from}${isIn('DROP')}-j DROP`),
  ]
}

/**
 * Packets of this node's processes, which IPVS takes in OUTPUT. Packets that IPVS has sent on pass here a second time:
 * the mark of a short circuit is then cleared. The node's own packets are masqueraded in that case, because the
 * endpoint may be on another node.
 */
function departure(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = SETS[family]
  const shortCircuit = isShortCircuit(settings)
  const masquerade = hex(2 ** settings.masqueradeBit)
  return [
    `${shortCircuit}${FROM_NODE}-j MARK --set-xmark ${masquerade}/0xffffffff`,
    `${shortCircuit}-j MARK --set-xmark 0x0/0xffffffff`,
    `${isNotIn('SERVICES')}-j RETURN`,
    '-m conntrack ! --ctstate NEW -j RETURN',
    `${isIn('PAUSED')}-j DROP`,
    outsideRanges(SETS[family]),
    `${isIn('DROP')}${isNotIn('SHORTCUT')}${isIn('DROP')}-j DROP`,
    `${isIn('SHORTCUT')}${mapMark(family)}`,
  ]
}

/**
 * Marks the packets that will be masqueraded. This does not depend on SERVICES, because a virtual server at an address
 * of this node gets packets before its point is in that set. Packets to a virtual server end here, so that no other
 * rule translates them as well. This includes packets that this node sends, which IPVS takes after these rules. The
 * mark of a short circuit must stay as it is for IPVS.
 */
function masquerade(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = SETS[family]
  const offCluster = settings.masqueradeAll ? [''] : sources(settings, family).others
  const plain = isNotIn('MASQUERADE') + isNotIn('ONNODE')
  return [
    `${isShortCircuit(settings)}-j ACCEPT`,
    isIn('MASQUERADE') + setMark(settings),
    isIn('ONNODE') + FROM_NODE + setMark(settings),
    `${isNotIn('SERVICES')}-j RETURN`,
    ...offCluster.map((from) => from + plain + setMark(settings)),
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
  const { isIn, isNotIn } = SETS[family]
  return [
    `${isIn('ADMIT')}-j ACCEPT`,
    `${NOT_SYN}${isIn('SERVICES')}-j REJECT --reject-with tcp-reset`,
    `${isNotIn('REJECT')}${isNotIn('LEAVING')}-j RETURN`,
    `${isNotIn('REJECT')}${isIn('SERVICES')}-j RETURN`,
    '-p tcp -j REJECT --reject-with tcp-reset',
    `-j REJECT --reject-with ${portUnreachable(family)}`,
  ]
}

function mapMark(family: Family): string {
  return `-j SET --map-set ${SETS[family].name('SHORTCUT')} dst,dst --map-mark`
}

function isShortCircuit(settings: NetfilterSettings): string {
  const { mask, value } = markPattern(settings)
  return `-m mark --mark ${hex(value)}/${hex(mask)} `
}

function hex(mark: number): string {
  return `0x${mark.toString(16)}`
}
