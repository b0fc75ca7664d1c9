import { NodeProxyError } from '../../../lib/error.ts'
import type { KernelError, ObjectKey } from '../../mode.ts'

/** Throws the first refusal of a removal, with its code. */
export function demandRemoved(failed: ReadonlyMap<ObjectKey, KernelError>): void {
  for (const [object, { code, message }] of failed) {
    throw new NodeProxyError(code, `${object} could not be removed: ${message}`, { object })
  }
}
