import type { Backend, ForwardingEntry, Frontend, Pool } from '../../../forwarding/entry.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { distinguishesPods, isEverySourcePod } from '../statements/matches.ts'
import { choiceChain, type MapPrefix, type MarkClass } from './choice-chain.ts'
import { choicesOf } from './choices.ts'

/** How packets of one frontend get to one pool, which has a backend. */
export interface Route {
  /** Only packets from pods and from the node itself; they are looked up first. */
  readonly isInside: boolean
  readonly pool: Pool
  /** Backends of equal probability; one of a larger weight is there more than once. */
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

/** At most two: with `shortCircuit` one for pods and the node, one for all others. */
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
