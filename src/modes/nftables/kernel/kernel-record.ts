import type { ForwardingEntry } from '../../../forwarding/entry.ts'
import type { PlacedElement } from '../../../kernel/nftables/rules/digest.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { objectOf } from '../keys/object-key.ts'
import { render } from '../program/render.ts'
import { clusterAddress } from '../program/routes.ts'

/**
 * How the elements of an object in the kernel are known: as those of the entry from which they were written; as those
 * that follow from its key alone (`fixed`); as they were read; or only that they differ from what is wanted
 * (`unread`). A set or chain with `otherForm` has to be created anew: its type cannot be changed.
 */
export type Holding = ForwardingEntry | 'fixed' | readonly PlacedElement[] | 'unread' | 'otherForm'

/** Which of our objects the kernel holds, as far as this daemon knows: it follows what is written and read. */
export class KernelRecord {
  readonly #objects = new Map<ObjectKey, Holding>()

  /** Undefined if the kernel does not hold the object. */
  holdingOf(key: ObjectKey): Holding | undefined {
    return this.#objects.get(key)
  }

  has(key: ObjectKey): boolean {
    return this.#objects.has(key)
  }

  set(key: ObjectKey, holding: Holding): void {
    this.#objects.set(key, holding)
  }

  delete(key: ObjectKey): void {
    this.#objects.delete(key)
  }

  /** Forgets everything. */
  forget(): void {
    this.#objects.clear()
  }
}

/** The elements of a frontend in the kernel, according to the record; empty if they are not known. */
export function recordedElements(
  { record, settings }: { readonly record: KernelRecord; readonly settings: NetfilterSettings },
  key: ObjectKey,
): readonly PlacedElement[] {
  const holding = record.holdingOf(key)
  if (holding === 'fixed') return fixedElements(key)
  if (holding === undefined || typeof holding === 'string') return []
  if (!isEntry(holding)) return holding
  const content = render(holding, settings).objects.get(key)
  return content?.kind === 'frontend' ? content.elements : []
}

/** The elements of a ClusterIP. Shared sets and chains have none here: they are read, or written anew. */
function fixedElements(key: ObjectKey): readonly PlacedElement[] {
  const { kind, name } = objectOf(key)
  return kind === 'address' ? clusterAddress(name as IpAddress) : []
}

function isEntry(holding: Holding): holding is ForwardingEntry {
  return typeof holding === 'object' && 'frontends' in holding
}
