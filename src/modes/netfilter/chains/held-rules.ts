import type { Iptables, SavedTable } from '../../../kernel/iptables/iptables.ts'
import type { ObjectKey } from '../../mode.ts'
import type { ChainContents } from './keeper-options.ts'
import { objectOf } from './object.ts'

/** The rules that the kernel holds, of chains and jumps; each table is read once, when it is first needed. */
export class HeldRules {
  readonly #iptables: Pick<Iptables, 'save'>
  readonly #tables = new Map<string, Promise<SavedTable>>()

  constructor(iptables: Pick<Iptables, 'save'>) {
    this.#iptables = iptables
  }

  /** The rules of a chain; of a jump itself, as often as it is there. */
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

/** What a chain or a jump holds as it is wanted. */
export function wantedRules(
  key: ObjectKey,
  wanted: Pick<ChainContents, 'rulesOf'>,
): readonly string[] {
  const object = objectOf(key)
  return object.kind === 'jump' ? [object.rule] : (wanted.rulesOf(key) ?? [])
}
