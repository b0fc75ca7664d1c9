import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import type { PlacedElement } from '../../../kernel/nftables/rules/digest.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { ObjectKey } from '../../mode.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { GUARD_TABLE, TABLE } from '../keys/names.ts'
import { NftablesProgram } from '../program/program.ts'
import { KernelRecord } from './kernel-record.ts'

/** The state of one instance of the mode: what it wants, the kernel, and what it knows about the kernel. */
export interface ManagedState {
  readonly nftables: Nftables
  readonly settings: NetfilterSettings
  readonly program: NftablesProgram
  readonly record: KernelRecord
  /** Elements that another program added, changed or deleted, until they are read. */
  readonly suspects: Suspects
}

/** Nothing is read or written yet. */
export function createManagedState(
  settings: NetfilterSettings,
  { nftables }: { readonly nftables: Nftables },
): ManagedState {
  const program = new NftablesProgram(settings)
  return { nftables, settings, program, record: new KernelRecord(), suspects: new Suspects() }
}

/** Removes the tables of both families, including those of earlier runs; throws if one stays. */
export async function cleanUp(nftables: Nftables): Promise<void> {
  for (const family of [4, 6] as const) {
    for (const name of [TABLE, GUARD_TABLE]) {
      const table = { family, name }
      if ((await nftables.read(table)) === undefined) continue
      const error = await nftables.commit([{ do: 'deleteTable', table }])
      if (error === undefined) continue
      throw new NodeProxyError(
        'NP_NFTABLES_REFUSED',
        `table ${family === 4 ? 'ip' : 'ip6'} ${name} could not be removed: ${error.message}`,
      )
    }
  }
}

/** The maximum number of elements; if more change, everything is read. */
const LIMIT = 5_000

/**
 * Elements that other programs added, changed or deleted, by the object that they belong to, until they are read. For
 * an object that is not wanted, nothing else shows which elements it has.
 */
export class Suspects {
  readonly #byObject = new Map<ObjectKey, PlacedElement[]>()
  #count = 0

  /** Returns false if there are too many; then none is kept. */
  add(key: ObjectKey, placed: PlacedElement): boolean {
    if (++this.#count > LIMIT) {
      this.clear()
      return false
    }
    const known = this.#byObject.get(key)
    if (known) known.push(placed)
    else this.#byObject.set(key, [placed])
    return true
  }

  /** Returns the suspects of an object and forgets them. */
  take(key: ObjectKey): readonly PlacedElement[] {
    const placed = this.#byObject.get(key) ?? []
    this.#byObject.delete(key)
    this.#count -= placed.length
    return placed
  }

  clear(): void {
    this.#byObject.clear()
    this.#count = 0
  }
}
