import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, scalarText, stringAt } from '../../lib/json.ts'
import type { OwnedObject } from './owned-object.ts'
import { readOwned } from './owned-object.ts'

/** What controllers need to know of a Namespace. */
export interface NamespaceObject extends OwnedObject {
  /** `spec.finalizers`: who has to be done with it before it goes. */
  readonly finalizers: readonly string[]
  readonly conditions: readonly NamespaceCondition[]
}

export interface NamespaceCondition {
  readonly type: string
  /** `True` or `False`. */
  readonly status: string
  readonly reason: string
  readonly message: string
}

export function readNamespace(object: JsonObject): NamespaceObject {
  return {
    ...readOwned(object),
    finalizers: arrayAt(object, 'spec', 'finalizers').map(scalarText),
    conditions: arrayAt(object, 'status', 'conditions').map((one) => ({
      type: stringAt(one, 'type'),
      status: stringAt(one, 'status'),
      reason: stringAt(one, 'reason'),
      message: stringAt(one, 'message'),
    })),
  }
}
