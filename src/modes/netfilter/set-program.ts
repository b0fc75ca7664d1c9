import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectDescription, ObjectKey, Program } from '../mode.ts'
import { BaseRules, type FamilyRules } from './chains/base-rules.ts'
import type { ChainContents } from './chains/keeper-options.ts'
import { type ChainLocation, objectOf } from './chains/object.ts'
import { kindOf, memberOf, nameOf, PRESENT, routeKey, setKey } from './object-key.ts'
import { familyOfSet, type RoleSets } from './role-sets.ts'
import { WantedObjects } from './wanted-objects.ts'

/**
 * The program of a mode whose rules do not depend on the Services: what differs between Services is in sets, and in
 * objects that only this mode has.
 */
export abstract class SetProgram implements Program, ChainContents {
  protected readonly wanted = new WantedObjects()
  readonly #rules: BaseRules

  /** Wants what no entry is needed for: these rules, and of their families the policy route and all sets. */
  constructor(
    rules: readonly FamilyRules[],
    sets: Readonly<Record<Family, Pick<RoleSets<never>, 'kept'>>>,
  ) {
    this.#rules = new BaseRules(rules)
    for (const { family } of rules) {
      for (const { name } of sets[family].kept) this.wanted.want(setKey(name), PRESENT)
      this.wanted.want(routeKey(family), PRESENT)
    }
    for (const [key, digest] of this.#rules.digests) this.wanted.want(key, digest)
  }

  abstract replace(id: EntryId, entry: ForwardingEntry | undefined): void

  /** What an object is of a kind that only this mode has. */
  protected abstract describeOwn(key: ObjectKey): ObjectDescription

  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined> {
    return this.wanted.takeChanges()
  }

  ownersOf(key: ObjectKey): readonly EntryId[] {
    return this.wanted.ownersOf(key)
  }

  describe(key: ObjectKey): ObjectDescription {
    return describeShared(key, this.rulesOf(key)?.length ?? 0) ?? this.describeOwn(key)
  }

  /** The rules of a chain; undefined when it is not wanted. */
  rulesOf(key: ObjectKey): readonly string[] | undefined {
    return this.#rules.rulesOf(key)
  }

  /** The wanted jumps of one built-in chain. */
  jumpsIn(place: ChainLocation): readonly ObjectKey[] {
    return this.#rules.jumpsIn(place)
  }
}

/**
 * The description of an object of a kind that several modes have: chains, jumps, sets, members and policy routes;
 * undefined for kinds that only one mode has. `rules` is the number of rules of a chain.
 */
function describeShared(key: ObjectKey, rules: number): ObjectDescription | undefined {
  switch (kindOf(key)) {
    case 'rule': {
      const { kind, family, table } = objectOf(key)
      return { kind, family, rules: { table, count: kind === 'jump' ? 1 : rules } }
    }
    case 'set':
      return { kind: 'set', family: familyOfSet(nameOf(key)) }
    case 'member':
      return { kind: 'set_member', family: familyOfSet(memberOf(key).set) }
    case 'route':
      return { kind: 'route', family: nameOf(key) === '6' ? 6 : 4 }
    default:
      return undefined
  }
}
