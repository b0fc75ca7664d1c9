import type { Family } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import { type JumpObject, keyOf } from '../netfilter/chains/object.ts'
import { forward, martians } from '../netfilter/forward.ts'
import { TO_NODE } from '../netfilter/local-traffic.ts'
import { isRouted } from '../netfilter/mark.ts'
import { toNodePorts } from '../netfilter/node-ports.ts'
import { postrouting } from '../netfilter/postrouting.ts'
import { answeringJumps, serviceRanges } from '../netfilter/service-ranges.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { CHAIN, type OwnTable } from './names.ts'

/** Rules that keep other hosts from 127.0.0.0/8; they have to be in the kernel before route_localnet is 1. */
export const MARTIANS: readonly ObjectKey[] = (
  [
    { kind: 'chain', chain: CHAIN.martians },
    { kind: 'jump', chain: 'INPUT', rule: `-j ${CHAIN.martians}` },
  ] as const
).map((object) => keyOf({ ...object, family: 4, table: 'filter' }))

/** A chain of the scaffolding. */
interface BaseChain {
  readonly table: OwnTable
  readonly chain: string
  readonly rules: readonly string[]
}

/**
 * Chains that exist regardless of the number of Services; they lead to the dispatch trees. Packets that another mode
 * has marked as its own return at once, whichever mode's rules come first.
 */
export function baseChains(settings: NetfilterSettings, family: Family): readonly BaseChain[] {
  const drop = martians(settings, family)
  const ranges = serviceRanges(settings, family, { filter: CHAIN.filter })
  return [
    {
      table: 'nat',
      chain: CHAIN.services,
      rules: [
        `${isRouted(settings)}-j RETURN`,
        `-j ${CHAIN.vips}`,
        ...toNodePorts(settings, family, CHAIN.nodePorts),
      ],
    },
    { table: 'nat', chain: CHAIN.postrouting, rules: postrouting(settings, family) },
    {
      table: 'filter',
      chain: CHAIN.filter,
      rules: [
        '-m conntrack --ctstate DNAT -j RETURN',
        `-j ${CHAIN.filterVips}`,
        ...toNodePorts(settings, family, CHAIN.filterNodePorts),
      ],
    },
    { table: 'filter', chain: CHAIN.forward, rules: forward(settings) },
    ...(ranges.length > 0
      ? [{ table: 'filter', chain: CHAIN.ranges, rules: ranges } as const]
      : []),
    ...(drop.length > 0 ? [{ table: 'filter', chain: CHAIN.martians, rules: drop } as const] : []),
  ]
}

/**
 * Our rules in the built-in chains. The filter table answers only new connections. In INPUT it answers only those to
 * addresses of this node: packets to the address of a Service that another mode delivers here are left to that mode.
 */
export function jumps(settings: NetfilterSettings, family: Family): readonly JumpObject[] {
  const rules: readonly (readonly [OwnTable, string, string])[] = [
    ['nat', 'PREROUTING', `-j ${CHAIN.services}`],
    ['nat', 'OUTPUT', `-j ${CHAIN.services}`],
    ['nat', 'POSTROUTING', `-j ${CHAIN.postrouting}`],
    ...answeringJumps(settings, family, CHAIN).map(
      ({ chain, rule }) => ['filter', chain, chain === 'INPUT' ? TO_NODE + rule : rule] as const,
    ),
    ['filter', 'FORWARD', `-j ${CHAIN.forward}`],
    ...(martians(settings, family).length > 0
      ? [['filter', 'INPUT', `-j ${CHAIN.martians}`] as const]
      : []),
  ]
  return rules.map(([table, chain, rule]) => ({ kind: 'jump', family, table, chain, rule }))
}
