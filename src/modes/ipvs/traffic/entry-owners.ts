import type { ForwardingEntry } from '../../../forwarding/entry.ts'
import type { ObjectKey } from '../../mode.ts'

/** Finds the entry that an object is made for. */
export interface EntryOwners {
  entryOf(key: ObjectKey): ForwardingEntry | undefined
}
