import { type Action, isPathAction } from '../../auth/action.ts'
import { arrayAt, isJsonObject, type Json, ownValue, stringAt } from '../../lib/json.ts'
import { catalogue } from '../kinds/catalogue.ts'
import type { ServedVersion } from '../resource/resource.ts'

const confidential = catalogue.filter((resource) => resource.isConfidential)

/** Names of resources that are confidential in every group. */
const RESOURCES = new Set(confidential.map(({ plural }) => plural))
const SUBRESOURCES = new Set(['token'])
const KINDS = new Set([...confidential.map(({ kind }) => kind.toLowerCase()), 'tokenrequest'])

/**
 * Whether bodies of such requests are never shown, whatever the policy says: those of confidential resources
 * and their subresources, those with tokens, and those for paths that are not of a served resource.
 */
export function isWithheld(action: Action, served: ServedVersion | undefined): boolean {
  if (isPathAction(action) || served === undefined || served.resource.isConfidential) return true
  return RESOURCES.has(action.resource) || SUBRESOURCES.has(action.subresource)
}

/** Whether a document contains a confidential object, which may have been sent to the path of another kind. */
export function holdsWithheld(document: Json): boolean {
  return [document, ...partsOf(document)].some((part) =>
    KINDS.has(stringAt(part, 'kind').toLowerCase().replace(/list$/, '')),
  )
}

/** The items of a list, the objects in the rows of a Table, and the values of a JSON patch. */
function partsOf(document: Json): readonly Json[] {
  if (Array.isArray(document)) return document.flatMap((step) => valueOf(step, 'value'))
  const rows = arrayAt(document, 'rows').flatMap((row) => valueOf(row, 'object'))
  return [...arrayAt(document, 'items'), ...rows]
}

function valueOf(object: Json, key: string): readonly Json[] {
  const value = isJsonObject(object) ? ownValue(object, key) : undefined
  return value === undefined ? [] : [value]
}
