import type { JsonObject } from '../../lib/json.ts'
import { jsonForm, type ServedDocument } from '../negotiation/served-document.ts'

const GROUP_VERSION = 'apiextensions.k8s.io/v1'

/**
 * Where kubectl looks for kinds that others have defined before it says that a
 * manifest's kind is unknown. There are none, and discovery does not mention it.
 */
export const CUSTOM_RESOURCES_PATH = `/apis/${GROUP_VERSION}/customresourcedefinitions`

export function noCustomResources(): ServedDocument {
  const list: JsonObject = {
    kind: 'CustomResourceDefinitionList',
    apiVersion: GROUP_VERSION,
    metadata: { resourceVersion: '' },
    items: [],
  }
  return [jsonForm(() => list)]
}
