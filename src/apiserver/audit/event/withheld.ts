import { type Action, isPathAction } from '../../../auth/action.ts'
import { arrayAt, isJsonObject, type Json, ownValue, stringAt } from '../../../lib/json.ts'

const RESOURCES = new Set(['secrets', 'configmaps', 'tokenreviews'])
const SUBRESOURCES = new Set(['token'])
const KINDS = new Set(['secret', 'configmap', 'tokenreview', 'tokenrequest'])

/**
 * Whether bodies of such requests are never shown, whatever the policy says: Secrets, ConfigMaps and
 * tokens, in every group that has a resource of that name, with all their subresources.
 */
export function isWithheld(action: Action): boolean {
  if (isPathAction(action)) return true
  return RESOURCES.has(action.resource) || SUBRESOURCES.has(action.subresource)
}

/** Whether a document holds such an object all the same: sent to a path of another kind. */
export function holdsWithheld(document: Json): boolean {
  return [document, ...partsOf(document)].some((part) =>
    KINDS.has(stringAt(part, 'kind').toLowerCase().replace(/list$/, '')),
  )
}

/** Items of a list, objects of a Table's rows, values of a JSON patch. */
function partsOf(document: Json): readonly Json[] {
  if (Array.isArray(document)) return document.flatMap((step) => valueOf(step, 'value'))
  const rows = arrayAt(document, 'rows').flatMap((row) => valueOf(row, 'object'))
  return [...arrayAt(document, 'items'), ...rows]
}

function valueOf(object: Json, key: string): readonly Json[] {
  const value = isJsonObject(object) ? ownValue(object, key) : undefined
  return value === undefined ? [] : [value]
}
