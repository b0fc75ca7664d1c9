import type { Family } from '../../../lib/ip.ts'
import type { Digest, ObjectKey } from '../../mode.ts'
import type { ChainContents } from './keeper-options.ts'
import {
  type ChainLocation,
  type ChainObject,
  digestCount,
  digestRules,
  type JumpObject,
  keyOf,
  type Table,
} from './object.ts'

/** Rules in order, as `iptables-save` writes them, by the names of their chains. */
export type RulesByChain = Readonly<Record<string, readonly string[]>>

/** A rule of node-proxy in a built-in chain. */
export type BaseJump = readonly [table: Table, chain: string, rule: string]

/** The rules of a mode in the tables of one family that do not depend on the Services. */
export interface FamilyRules {
  readonly family: Family
  /** Chains without rules are not created. */
  readonly chains: Readonly<Partial<Record<Table, RulesByChain>>>
  readonly jumps: readonly BaseJump[]
}

/** The chains and jumps of a mode that do not depend on the Services: what differs between Services is in sets or other chains. */
export class BaseRules implements ChainContents {
  readonly families: readonly Family[]
  /** The wanted digest of each chain and jump. */
  readonly digests: ReadonlyMap<ObjectKey, Digest>
  readonly #rules: ReadonlyMap<ObjectKey, readonly string[]>
  readonly #jumps: readonly JumpObject[]

  constructor(families: readonly FamilyRules[]) {
    this.families = families.map(({ family }) => family)
    this.#rules = new Map(
      families.flatMap(chainsOf).map(({ rules, ...chain }) => [keyOf(chain), rules]),
    )
    this.#jumps = families.flatMap(({ family, jumps }) =>
      jumps.map(([table, chain, rule]) => ({ kind: 'jump', family, table, chain, rule }) as const),
    )
    this.digests = new Map([
      ...[...this.#rules].map(([key, rules]) => [key, digestRules(rules)] as const),
      ...this.#jumps.map((jump) => [keyOf(jump), digestCount(1)] as const),
    ])
  }

  /** The rules of a chain; undefined for any other object. */
  rulesOf(key: ObjectKey): readonly string[] | undefined {
    return this.#rules.get(key)
  }

  /** The jumps in one built-in chain. */
  jumpsIn({ family, table, chain }: ChainLocation): readonly ObjectKey[] {
    return this.#jumps
      .filter((jump) => jump.family === family && jump.table === table && jump.chain === chain)
      .map(keyOf)
  }
}

/** The chains that have rules, with their rules. */
export function chainsOf({
  family,
  chains,
}: FamilyRules): readonly (ChainObject & { readonly rules: readonly string[] })[] {
  return (Object.entries(chains) as [Table, RulesByChain][]).flatMap(([table, byName]) =>
    Object.entries(byName)
      .filter(([, rules]) => rules.length > 0)
      .map(([chain, rules]) => ({ kind: 'chain', family, table, chain, rules }) as const),
  )
}
