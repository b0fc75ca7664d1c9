import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isIntegerIn } from '../../resources/port.ts'
import type { Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import { checkField, checkUnchanged } from './shared/checks.ts'

/** The columns of `kubectl get controllerrevisions`. */
const columns: readonly Column[] = [
  nameColumn,
  column('Controller', 'The workload whose Pods it describes.', controllerOf),
  column('Revision', 'Its place in the history of the workload.', ({ revision = 0 }) =>
    typeof revision === 'number' ? revision : 0,
  ),
  ageColumn,
]

/** apps/v1 ControllerRevision: one state of the template of a DaemonSet or StatefulSet, to which it can return. */
export const controllerRevisions: Resource = {
  plural: 'controllerrevisions',
  singular: 'controllerrevision',
  kind: 'ControllerRevision',
  namespaced: true,
  versions: [{ group: 'apps', version: 'v1' }],
  columns,
  validate: checkRevision,
  validateUpdate: (next, old) => checkUnchanged(next, old, 'data'),
  defaults: 'none',
}

/** `daemonset.apps/web`, as kubectl names objects. */
function controllerOf(object: JsonObject): string {
  const owners = arrayAt(object, 'metadata', 'ownerReferences')
  const controller: Json | undefined = owners.find((one) => valueAt(one, 'controller') === true)
  if (controller === undefined) return '<none>'
  const [group = ''] = stringAt(controller, 'apiVersion').split('/').slice(0, -1)
  const kind = stringAt(controller, 'kind').toLowerCase()
  return `${group === '' ? kind : `${kind}.${group}`}/${stringAt(controller, 'name')}`
}

/** The rules of apps/v1. The data is any object: what it means is up to the controller that wrote it. */
function checkRevision(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  if (!isJsonObject(object.value('data'))) object.refuse('data', 'must be an object')
  checkField(
    object,
    'revision',
    (value) => isIntegerIn(value, 0, Number.MAX_SAFE_INTEGER),
    'must be an integer of at least 0',
  )
}
