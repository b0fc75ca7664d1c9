import type { Family } from '../../../lib/ip.ts'
import type { Digest, ObjectKey } from '../../mode.ts'
import type { ChainContents } from './keeper-options.ts'
import { digestCount, digestRules, type JumpObject, keyOf } from './object.ts'
import type { ChainLocation, Table } from './place.ts'

/** One chain of ours with its rules, in order, as `iptables-save` writes them. */
export interface BaseChain {
  readonly table: Table
  readonly chain: string
  readonly rules: readonly string[]
}

/** A rule of ours in a built-in chain. */
export type BaseJump = readonly [table: Table, chain: string, rule: string]

/** Chains and jumps of one family, however many Services there are. */
export interface FamilyRules {
  readonly family: Family
  readonly chains: readonly BaseChain[]
  readonly jumps: readonly JumpObject[]
}

/** The chains of one table by their names; one without rules is not made. */
export function chainsOf(
  table: Table,
  chains: Readonly<Record<string, readonly string[]>>,
): readonly BaseChain[] {
  return Object.entries(chains)
    .filter(([, rules]) => rules.length > 0)
    .map(([chain, rules]) => ({ table, chain, rules }))
}

export function jumpsOf(family: Family, jumps: readonly BaseJump[]): readonly JumpObject[] {
  return jumps.map(([table, chain, rule]) => ({ kind: 'jump', family, table, chain, rule }))
}

/** The chains and jumps of a mode that stand however many Services there are: what differs is in sets or other chains. */
export class BaseRules implements ChainContents {
  /** What is wanted of each chain and jump. */
  readonly digests: ReadonlyMap<ObjectKey, Digest>
  readonly #rules: ReadonlyMap<ObjectKey, readonly string[]>
  readonly #jumps: readonly JumpObject[]

  constructor(families: readonly FamilyRules[]) {
    this.#jumps = families.flatMap(({ jumps }) => jumps)
    this.#rules = new Map(
      families.flatMap(({ family, chains }) =>
        chains.map(({ table, chain, rules }) => {
          return [keyOf({ kind: 'chain', family, table, chain }), rules] as const
        }),
      ),
    )
    this.digests = new Map([
      ...[...this.#rules].map(([key, rules]) => [key, digestRules(rules)] as const),
      ...this.#jumps.map((jump) => [keyOf(jump), digestCount(1)] as const),
    ])
  }

  /** The rules of a chain; undefined: it is none of these. */
  rulesOf(key: ObjectKey): readonly string[] | undefined {
    return this.#rules.get(key)
  }

  /** The jumps of one built-in chain. */
  jumpsIn({ family, table, chain }: ChainLocation): readonly ObjectKey[] {
    return this.#jumps
      .filter((jump) => jump.family === family && jump.table === table && jump.chain === chain)
      .map(keyOf)
  }
}
