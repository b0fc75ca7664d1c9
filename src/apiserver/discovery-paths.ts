import { CUSTOM_RESOURCES_PATH } from './discovery-custom-resources.ts'
import { jsonForm, type ServedDocument } from './http/document.ts'

/** What `GET /` answers: the paths that are no resources, by which people find the rest. */
export function pathsDocument(paths: readonly string[]): ServedDocument {
  const shown = paths.filter((path) => path !== CUSTOM_RESOURCES_PATH)
  return [jsonForm(() => ({ paths: shown.toSorted() }))]
}
