import type { Iptables, SavedTable } from '../../kernel/iptables/iptables.ts'
import type { ObjectKey } from '../mode.ts'
import type { ChainContents } from './chains/keeper-options.ts'
import { objectOf } from './chains/object.ts'
import { kindOf } from './object-key.ts'

/** The rules of chains and jumps; an object of another kind has none. */
export class RuleLines {
  readonly #iptables: Pick<Iptables, 'save'> | undefined
  readonly #contents: Pick<ChainContents, 'rulesOf'>
  readonly #tables = new Map<string, Promise<SavedTable>>()

  /** `contents` returns the rules of wanted chains. Without `iptables` the kernel holds none. */
  constructor(
    contents: Pick<ChainContents, 'rulesOf'>,
    iptables: Pick<Iptables, 'save'> | undefined,
  ) {
    this.#contents = contents
    this.#iptables = iptables
  }

  /** The wanted rules of a chain; for a jump its rule. */
  wanted(key: ObjectKey): readonly string[] {
    if (kindOf(key) !== 'rule') return []
    const object = objectOf(key)
    return object.kind === 'jump' ? [object.rule] : (this.#contents.rulesOf(key) ?? [])
  }

  /** The rules of a chain in the kernel; for a jump its rule, as often as it occurs. Each table is read once. */
  async held(key: ObjectKey): Promise<readonly string[]> {
    if (kindOf(key) !== 'rule' || this.#iptables === undefined) return []
    const object = objectOf(key)
    const { family, table } = object
    const id = `${family}/${table}`
    const reading = this.#tables.get(id) ?? this.#iptables.save(family, table)
    this.#tables.set(id, reading)
    const rules = (await reading).chains.get(object.chain)?.rules ?? []
    return object.kind === 'chain' ? rules : rules.filter((rule) => rule === object.rule)
  }
}
