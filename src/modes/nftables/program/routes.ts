import type { Backend, ForwardingEntry, Frontend, Pool } from '../../../forwarding/entry.ts'
import type { PlacedElement } from '../../../kernel/nftables/rules/digest.ts'
import { address } from '../../../kernel/nftables/rules/encode.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { SET } from '../keys/names.ts'
import { choiceChain, type MapPrefix, type MarkClass } from './choice-chain.ts'
import { distinguishesPods, isEverySourcePod } from './pod-sources.ts'

/** The maximum number of choices of a pool, unless it has more backends. */
export const MAX_CHOICES = 4_096

/** How packets of one frontend get to one pool with a backend. */
export interface Route {
  /** Applies only to packets from pods and from the node itself; such routes are looked up first. */
  readonly isInside: boolean
  readonly pool: Pool
  /** Backends of equal probability; one with a larger weight occurs more than once. */
  readonly choices: readonly Backend[]
  readonly mark: MarkClass
  /** The choice chain. */
  readonly chain: string
}

/** The choices of both pools of an entry. */
export type Choices = Readonly<Record<Pool, readonly Backend[]>>

export function choicesOfPools({ pools }: ForwardingEntry): Choices {
  return { cluster: choicesOf(pools.cluster), local: choicesOf(pools.local) }
}

/** At most two routes: with `shortCircuit` one for pods and the node, one for all others. */
export function routesOf(
  { family }: ForwardingEntry,
  { ip, pool, shortCircuit, masquerade }: Frontend,
  choices: Choices,
  settings: NetfilterSettings,
): readonly Route[] {
  const route = (to: Pool, isInside: boolean, mark: MarkClass): readonly Route[] => {
    const { length } = choices[to]
    if (length === 0) return []
    const prefix: MapPrefix = `${isInside ? 'inside-' : ''}${ip === 'node' ? 'node-port-' : ''}`
    return [
      { isInside, pool: to, choices: choices[to], mark, chain: choiceChain(prefix, length, mark) },
    ]
  }
  if (shortCircuit) {
    const onNode = isEverySourcePod(settings, family) ? '' : '-on-node'
    return [...route('cluster', true, onNode), ...route(pool, false, '')]
  }
  if (masquerade !== 'offCluster' || settings.masqueradeAll) {
    return route(pool, false, '-masquerade')
  }
  return route(pool, false, distinguishesPods(settings, family) ? '-off-cluster' : '')
}

/**
 * The backends of a pool as choices of equal probability: the number of choices of a backend is proportional to its
 * weight. Backends of weight 0 have none: they get no new connections. Weights are divided by their greatest common
 * divisor. If their sum is still larger than `MAX_CHOICES`, they are scaled to that sum: a backend whose share is less
 * than one choice keeps one, and the others get the rest by the largest remainder method.
 *
 * If no weight is below 1/4096 of the sum, each share differs from the exact one by less than 1/4096. Each weight
 * below that takes at most 1/4096 from the others, in proportion to their weights.
 */
export function choicesOf(pool: readonly Backend[]): readonly Backend[] {
  const backends = pool.filter(({ weight }) => weight > 0)
  // If all weights are equal, the usual case, each backend is one choice.
  if (backends.every(({ weight }) => weight === backends[0]?.weight)) return backends
  const divisor = backends.reduce((common, { weight }) => greatestCommonDivisor(common, weight), 0)
  const weights = backends.map(({ weight }) => weight / divisor)
  const counts = sumOf(weights) > MAX_CHOICES ? scale(weights) : weights
  return backends.flatMap((backend, index) => Array<Backend>(counts[index]!).fill(backend))
}

function scale(weights: readonly number[]): readonly number[] {
  if (weights.length >= MAX_CHOICES) return weights.map(() => 1)
  const small = new Set<number>()
  for (;;) {
    const left = MAX_CHOICES - small.size
    const sum = sumOf(weights.filter((_, index) => !small.has(index)))
    const shares = weights.map((weight) => (weight * left) / sum)
    const more = shares.flatMap((share, index) => (share < 1 && !small.has(index) ? [index] : []))
    if (more.length === 0) return byLargestRemainder(shares, small, left)
    for (const index of more) small.add(index)
  }
}

function byLargestRemainder(
  shares: readonly number[],
  small: ReadonlySet<number>,
  total: number,
): readonly number[] {
  const counts = shares.map((share, index) => (small.has(index) ? 1 : Math.floor(share)))
  const open = [...shares.keys()].filter((index) => !small.has(index))
  const missing = total - sumOf(open.map((index) => counts[index]!))
  const remainder = (index: number) => shares[index]! % 1
  const first = open.toSorted((a, b) => remainder(b) - remainder(a) || a - b).slice(0, missing)
  for (const index of first) counts[index]!++
  return counts
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

/** A ClusterIP: new connections to it are rejected on every port that no Service has there. */
export function clusterAddress(ip: IpAddress): readonly PlacedElement[] {
  return [{ set: SET.clusterAddresses, element: { key: address(ip) } }]
}
