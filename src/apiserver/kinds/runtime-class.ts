import { stringAt } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isLabel } from '../../resources/names.ts'
import { milliQuantity } from '../../resources/quantity.ts'
import type { Raw, Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import { aliasVersions, type Resource } from '../resource/resource.ts'
import { checkTolerations, checkUnchanged, LABEL_FAULT, writeQuantities } from './shared/checks.ts'
import { changePresent } from './shared/edit.ts'
import { checkMatchLabels } from './shared/label-selector.ts'

/** The columns of `kubectl get runtimeclasses`. */
const columns: readonly Column[] = [
  nameColumn,
  column('Handler', 'The configuration of the container runtime for its pods.', (object) =>
    stringAt(object, 'handler'),
  ),
  ageColumn,
]

/** node.k8s.io/v1 RuntimeClass: kubelets read it to find the runtime of a Pod. */
export const runtimeClasses: Resource = {
  plural: 'runtimeclasses',
  singular: 'runtimeclass',
  kind: 'RuntimeClass',
  namespaced: false,
  versions: aliasVersions('node', 'v1'),
  columns,
  validate: checkRuntimeClass,
  validateUpdate: checkRuntimeClassUpdate,
  defaults: defaultRuntimeClass,
}

function defaultRuntimeClass(runtimeClass: Raw): Raw {
  return changePresent(runtimeClass, 'overhead', (overhead) =>
    writeQuantities(overhead, ['podFixed']),
  )
}

/** The rules of node.k8s.io/v1. */
function checkRuntimeClass(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'subdomain' })
  const handler = object.value('handler')
  if (typeof handler !== 'string' || !isLabel(handler)) object.refuse('handler', LABEL_FAULT)
  const amounts = object.object('overhead').map('podFixed')
  for (const name of amounts.keys()) {
    if (milliQuantity(amounts.value(name)) === undefined) {
      amounts.refuse(name, 'must be an amount of at least 0, such as 100m or 64Mi')
    }
  }
  const scheduling = object.object('scheduling')
  checkMatchLabels(scheduling, 'nodeSelector')
  checkTolerations(scheduling)
}

/** A node may already run Pods of the class, so its runtime cannot change. */
function checkRuntimeClassUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next, old, 'handler')
}
