import type { Iptables, SavedTable } from '../../../kernel/iptables/iptables.ts'
import type { ObjectKey } from '../../mode.ts'
import type { ChainContents } from './keeper-options.ts'
import { objectOf } from './object.ts'

/** The rules of chains and jumps in the kernel; each table is read once, when it is first needed. */
export class HeldRules {
  readonly #iptables: Pick<Iptables, 'save'>
  readonly #tables = new Map<string, Promise<SavedTable>>()

  constructor(iptables: Pick<Iptables, 'save'>) {
    this.#iptables = iptables
  }

  /** The rules of a chain; for a jump its rule, as often as it occurs. */
  async of(key: ObjectKey): Promise<readonly string[]> {
    const object = objectOf(key)
    const { family, table } = object
    const id = `${family}/${table}`
    const reading = this.#tables.get(id) ?? this.#iptables.save(family, table)
    this.#tables.set(id, reading)
    const rules = (await reading).chains.get(object.chain)?.rules ?? []
    return object.kind === 'chain' ? rules : rules.filter((rule) => rule === object.rule)
  }
}

/** The wanted rules of a chain or a jump; `rulesOf` returns the rules of a wanted chain. */
export function wantedRules(
  key: ObjectKey,
  wanted: Pick<ChainContents, 'rulesOf'>,
): readonly string[] {
  const object = objectOf(key)
  return object.kind === 'jump' ? [object.rule] : (wanted.rulesOf(key) ?? [])
}
