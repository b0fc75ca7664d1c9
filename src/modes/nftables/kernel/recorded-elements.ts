import type { ForwardingEntry } from '../../../forwarding/entry.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import type { PlacedElement } from '../keys/digest.ts'
import { objectOf } from '../keys/object-key.ts'
import { render } from '../program/render.ts'
import { clusterAddress } from '../program/routes.ts'
import type { Holding } from './kernel-record.ts'
import type { ManagedState } from './managed-state.ts'

/** The elements of a frontend in the kernel, according to the record; empty if they are not known. */
export function recordedElements(
  { record, settings }: ManagedState,
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
