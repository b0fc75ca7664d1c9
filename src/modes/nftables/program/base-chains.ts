import type { ChainSpec, Rule } from '../../../kernel/nftables/objects.ts'
import {
  bits,
  CHOSEN_PORT,
  chosenAddress,
  DESTINATION_PORT,
  destinationAddress,
  ORIGINAL_PORT,
  originalDestination,
  PROTOCOL,
  sourceAddress,
} from '../../../kernel/nftables/rules/fields.ts'
import * as match from '../../../kernel/nftables/rules/matches.ts'
import * as statement from '../../../kernel/nftables/rules/statements.ts'
import type { Cidr, Family } from '../../../lib/ip.ts'
import { routingBit } from '../../netfilter/mark.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { CHAIN, SET, TRAFFIC_SETS } from '../keys/names.ts'
import { rangesOf, restrictedTo } from './base-sets.ts'
import { fromPods } from './pod-sources.ts'

interface BaseChain {
  readonly name: string
  readonly spec: ChainSpec
  readonly rules: readonly Rule[]
}

const { rule } = statement

/**
 * The priorities of linux/netfilter_ipv4.h. Just before NF_IP_PRI_NAT_DST: before the chains of iptables and of
 * kube-proxy, so that stale rules of another Service proxy have no effect. NF_IP_PRI_FILTER. Just before
 * NF_IP_PRI_NAT_SRC: a chain that translates the source ends the nat chains of its hook, so after the masquerade of a
 * network plugin our chain could not see which client to remember and which pod reaches itself.
 */
const PRIORITY = { destination: -102, again: -101, filter: 0, source: 99 } as const
/** The counter of a backend that gets no connection of a frontend for this time, a day, restarts at 0. */
const COUNTED_MS = 86_400_000

const LOOPBACK: Readonly<Record<Family, Cidr>> = { 4: '127.0.0.0/8' as Cidr, 6: '::1/128' as Cidr }

/** Chains that exist regardless of the number of Services. */
export function baseChains(settings: NetfilterSettings, family: Family): readonly BaseChain[] {
  const unanswered = [match.hasState(match.STATE.new), match.IS_NOT_TRANSLATED]
  const answer = rule(...unanswered, statement.jump(CHAIN.unserved))
  // Packets to another address were delivered here by the policy route of another mode, which serves them.
  const answerOnNode = rule(...unanswered, match.TO_NODE, statement.jump(CHAIN.unserved))
  return [
    ...translating(settings, family),
    {
      name: CHAIN.input,
      spec: called('nat', 'input', PRIORITY.source),
      rules: [ONCE_TRANSLATED],
    },
    {
      name: CHAIN.postrouting,
      spec: called('nat', 'postrouting', PRIORITY.source),
      rules: postrouting(settings, family),
    },
    {
      name: CHAIN.filterInput,
      spec: called('filter', 'input', PRIORITY.filter),
      rules: [...martians(settings, family), answerOnNode],
    },
    {
      name: CHAIN.filterForward,
      spec: called('filter', 'forward', PRIORITY.filter),
      rules: [...invalid(settings), answer, ...inRanges(settings, family)],
    },
    {
      name: CHAIN.filterOutput,
      spec: called('filter', 'output', PRIORITY.filter),
      rules: [answer, ...inRanges(settings, family)],
    },
    { name: CHAIN.dispatch, spec: {}, rules: dispatchRules(settings, family) },
    { name: CHAIN.dispatchNodePorts, spec: {}, rules: nodePortRules(settings, family) },
    { name: CHAIN.unserved, spec: {}, rules: unserved(settings, family) },
    {
      name: CHAIN.rejected,
      spec: {},
      rules: [
        rule(match.isProtocol('TCP'), statement.reject('tcpReset')),
        rule(statement.reject('portUnreachable')),
      ],
    },
    { name: CHAIN.translated, spec: {}, rules: translated(settings, family) },
    ...(settings.countsTraffic ? counting(family) : []),
  ]
}

/** A chain that the kernel calls at a hook. */
function called(
  type: 'nat' | 'filter',
  hook: NonNullable<ChainSpec['hook']>['hook'],
  priority: number,
): ChainSpec {
  return { hook: { type, hook, priority } }
}

/** Two chains for each hook in which the destination is translated; see `translateDestination`. */
function translating(settings: NetfilterSettings, family: Family): readonly BaseChain[] {
  const first = translateDestination(settings, family, 'return')
  const again = translateDestination(settings, family, 'drop')
  return (['prerouting', 'output'] as const).flatMap((hook) => [
    { name: CHAIN[hook], spec: called('nat', hook, PRIORITY.destination), rules: first },
    { name: CHAIN[`${hook}Again`], spec: called('nat', hook, PRIORITY.again), rules: again },
  ])
}

/**
 * Used in two hooks: every connection meets exactly one of them, once, because it is either forwarded or delivered on
 * this node.
 */
const ONCE_TRANSLATED = rule(match.IS_TRANSLATED, statement.jump(CHAIN.translated))

/** The fields destination address, protocol and port of a packet. */
function frontendFields(family: Family) {
  return [destinationAddress(family), PROTOCOL, DESTINATION_PORT] as const
}

/**
 * Destinations are translated in two chains that the kernel calls one after the other. A transaction is atomic for
 * each lookup and for the rules reachable from one such chain, but not for a packet. A packet that is processed while
 * a transaction takes effect may read a verdict from before and the choice from after it, or be led to a chain that it
 * still sees empty. It then leaves the first chain untranslated. The second chain, which has an effect only on such
 * packets, reads everything as of after the transaction. So only the second one may drop for a source range.
 *
 * Packets that another mode has taken return.
 */
function translateDestination(
  settings: NetfilterSettings,
  family: Family,
  outOfRange: 'return' | 'drop',
): readonly Rule[] {
  const fields = frontendFields(family)
  return [
    rule(statement.hasMark(routingBit(settings)), statement.verdict('return')),
    rule(
      statement.isIn(SET.limitedServices, ...fields),
      statement.isNotIn(SET.sourceRanges, ...fields, sourceAddress(family)),
      statement.verdict(outOfRange),
    ),
    rule(statement.jump(CHAIN.dispatch)),
  ]
}

/** First for pods and the node, then for all others. */
function dispatchRules(settings: NetfilterSettings, family: Family): readonly Rule[] {
  const fields = frontendFields(family)
  return [
    ...fromInside(settings, family, statement.verdictOf(SET.insideServices, ...fields)),
    rule(statement.verdictOf(SET.services, ...fields)),
    ...toNodePorts(settings, family, statement.jump(CHAIN.dispatchNodePorts)),
  ]
}

function nodePortRules(settings: NetfilterSettings, family: Family): readonly Rule[] {
  const fields = [PROTOCOL, DESTINATION_PORT]
  return [
    ...fromInside(settings, family, statement.verdictOf(SET.insideNodePorts, ...fields)),
    rule(statement.verdictOf(SET.nodePorts, ...fields)),
  ]
}

function fromInside(
  settings: NetfilterSettings,
  family: Family,
  lookup: statement.Statement,
): readonly Rule[] {
  const pods = fromPods(settings, family)
  return [...(pods ? [rule(pods, lookup)] : []), rule(match.FROM_NODE, lookup)]
}

/** The end of a chain: packets to the addresses of this node that serve node ports. */
function toNodePorts(
  settings: NetfilterSettings,
  family: Family,
  action: statement.Statement,
): readonly Rule[] {
  const servesLoopback = family === 4 && settings.localhostNodePorts
  const networks = restrictedTo(settings, family)
  const scope = networks ? statement.isIn(SET.nodePortAddresses, destinationAddress(family)) : []
  return [
    ...(servesLoopback ? [] : [rule(match.to(LOOPBACK[family]), statement.verdict('return'))]),
    ...(networks?.length === 0 ? [] : [rule(scope, match.TO_NODE, action)]),
  ]
}

/** The answer to new connections that nothing translated. */
function unserved(settings: NetfilterSettings, family: Family): readonly Rule[] {
  const byPort = statement.verdictOf(SET.noEndpointNodePorts, PROTOCOL, DESTINATION_PORT)
  return [
    rule(statement.verdictOf(SET.noEndpoints, ...frontendFields(family))),
    rule(
      statement.isIn(SET.clusterAddresses, destinationAddress(family)),
      statement.goto(CHAIN.rejected),
    ),
    ...toNodePorts(settings, family, byPort),
  ]
}

/** First counting and affinity; then masquerade of pods that reach themselves and of packets with the mark. */
function postrouting(settings: NetfilterSettings, family: Family): readonly Rule[] {
  const mark = 1 << settings.masqueradeBit
  const masquerade = statement.masquerade(settings.randomFully)
  return [
    ONCE_TRANSLATED,
    rule(match.IS_TRANSLATED, ...sameAddresses(family), masquerade),
    rule(statement.hasNotMark(mark), statement.verdict('return')),
    rule(statement.clearMark(mark)),
    rule(masquerade),
  ]
}

/** Matches if source and destination are equal; compares byte by byte from the last one. */
function sameAddresses(family: Family): readonly statement.Statement[] {
  const length = family === 4 ? 4 : 16
  return Array.from({ length }, (_, index) => {
    const mask = Buffer.alloc(length)
    mask[length - 1 - index] = 0xff
    const masked = [sourceAddress(family), destinationAddress(family)].map((field) =>
      bits(field, mask),
    )
    return statement.isIn(SET.sameByte, ...masked)
  })
}

/**
 * Counts the connection if that is configured, by its original and its translated destination, then remembers its
 * client. Chains of type nat see only the first packet of each connection, so further packets cost nothing. nft
 * accepts the original port only after a protocol match, so there are rules for each protocol. If the port of the
 * backend were read from the packet, nft would print it without the protocol.
 */
function translated({ countsTraffic }: NetfilterSettings, family: Family): readonly Rule[] {
  const address = originalDestination(family)
  const port = [PROTOCOL, ORIGINAL_PORT]
  const key = [address, ...port, chosenAddress(family), CHOSEN_PORT]
  return (['TCP', 'UDP', 'SCTP'] as const).flatMap((protocol) => {
    const is = match.isProtocol(protocol)
    return [
      ...(countsTraffic ? [rule(is, statement.count(SET.connections, COUNTED_MS, ...key))] : []),
      rule(is, statement.verdictOf(SET.remembered, address, ...port)),
      rule(is, statement.verdictOf(SET.rememberedNodePorts, ...port)),
      rule(is, statement.verdict('return')),
    ]
  })
}

/** Counts every packet of a translated connection once, whether forwarded, to this node or from it. */
function counting(family: Family): readonly BaseChain[] {
  const rules = [rule(match.IS_TRANSLATED, statement.jump(CHAIN.count))]
  return [
    { name: CHAIN.countPrerouting, spec: called('filter', 'prerouting', PRIORITY.filter), rules },
    { name: CHAIN.countOutput, spec: called('filter', 'output', PRIORITY.filter), rules },
    { name: CHAIN.count, spec: {}, rules: count(family) },
  ]
}

/** Counts by the original destination; the address of a Service is looked up before a node port. */
function count(family: Family): readonly Rule[] {
  return (['TCP', 'UDP', 'SCTP'] as const).flatMap((protocol) =>
    ([match.IS_ORIGINAL, match.IS_REPLY] as const).flatMap((direction) => {
      const [byAddress, byPort] = TRAFFIC_SETS[direction === match.IS_ORIGINAL ? 'in' : 'out']
      const port = [PROTOCOL, ORIGINAL_PORT]
      const is = [match.isProtocol(protocol), direction] as const
      const address = originalDestination(family)
      const end = statement.verdict('return')
      return [
        rule(...is, statement.isIn(byAddress, address, ...port), end),
        rule(...is, statement.isIn(byPort, ...port), end),
      ]
    }),
  )
}

/**
 * The refusal of what no Service has in a Service range, after `unserved`. Not in INPUT, where packets keep the address of
 * their Service that another mode has delivered to this node by a policy route. An address of a range that this node has (a
 * cache of DNS names on a dummy interface) is in use.
 */
function inRanges(settings: NetfilterSettings, family: Family): readonly Rule[] {
  if (rangesOf(settings, family).length === 0) return []
  return [
    rule(
      statement.isIn(SET.serviceRanges, destinationAddress(family)),
      match.hasState(match.STATE.new),
      match.IS_NOT_TRANSLATED,
      match.NOT_TO_NODE,
      statement.goto(CHAIN.rejected),
    ),
  ]
}

/** Foreign packets for loopback, which a kernel that routes it would deliver (CVE-2020-8558). */
function martians(settings: NetfilterSettings, family: Family): readonly Rule[] {
  if (family === 6 || !settings.dropMartians) return []
  return [
    rule(
      match.from(LOOPBACK[4], 'different'),
      match.to(LOOPBACK[4]),
      match.hasNotState(match.STATE.established | match.STATE.related),
      match.IS_NOT_TRANSLATED,
      statement.verdict('drop'),
    ),
  ]
}

function invalid({ dropInvalid }: NetfilterSettings): readonly Rule[] {
  return dropInvalid ? [rule(match.hasState(match.STATE.invalid), statement.verdict('drop'))] : []
}
