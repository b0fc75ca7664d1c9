import type { Family } from '../../../lib/ip.ts'
import type { ApplyResult, Change, KernelError, ObjectKey } from '../../mode.ts'
import { objectOf } from '../keys/object-key.ts'
import { FamilyWriter } from './family-writer.ts'
import type { ManagedState } from './managed-state.ts'

const FAMILIES: readonly Family[] = [4, 6]

/** Writes one change: a small one in one transaction of each family, so that no packet meets a part of it. */
export async function applyChange(change: Change, state: ManagedState): Promise<ApplyResult> {
  const failed = new Map<ObjectKey, KernelError>()
  let uncertain = false
  for (const family of FAMILIES) {
    const isOurs = (key: ObjectKey) => objectOf(key).family === family
    const own = { set: change.set.filter(isOurs), unset: change.unset.filter(isOurs) }
    if (own.set.length + own.unset.length === 0) continue
    const written = await new FamilyWriter(family, own, state).write()
    for (const [key, why] of written.failed) failed.set(key, why)
    uncertain ||= written.uncertain
  }
  return { failed, uncertain }
}
