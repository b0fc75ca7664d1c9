import type { JsonObject } from '../../lib/json.ts'
import { jsonForm, type ServedDocument } from '../negotiation/served-document.ts'

const GROUP_VERSION = 'apiextensions.k8s.io/v1'

/**
 * The path of the list of CustomResourceDefinitions. kubectl reads it before it reports that the kind of a manifest is
 * unknown. This server has no custom resources, so its discovery documents do not contain the path.
 */
export const CUSTOM_RESOURCES_PATH = `/apis/${GROUP_VERSION}/customresourcedefinitions`

/** The answer there: an empty list. */
export function noCustomResources(): ServedDocument {
  const list: JsonObject = {
    kind: 'CustomResourceDefinitionList',
    apiVersion: GROUP_VERSION,
    metadata: { resourceVersion: '' },
    items: [],
  }
  return [jsonForm(() => list)]
}
