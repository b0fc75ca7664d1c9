import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column, wideColumn } from '../../table/column.ts'
import { selectorText } from '../shared/selector-text.ts'

/** The columns of `kubectl get deployments`. */
export const columns: readonly Column[] = [
  nameColumn,
  column('Ready', 'Ready pods of the desired number.', readiness),
  column('Up-to-date', 'Pods of the current template.', (object) =>
    countAt(object, 'status', 'updatedReplicas'),
  ),
  column('Available', 'Pods that have been ready for long enough.', (object) =>
    countAt(object, 'status', 'availableReplicas'),
  ),
  ageColumn,
  wideColumn('Containers', 'Names of its containers.', (object) => containers(object, 'name')),
  wideColumn('Images', 'Images of its containers.', (object) => containers(object, 'image')),
  wideColumn('Selector', 'Labels of its pods.', (object) =>
    selectorText(valueAt(object, 'spec', 'selector')),
  ),
]

function readiness(object: JsonObject): string {
  return `${countAt(object, 'status', 'readyReplicas')}/${countAt(object, 'spec', 'replicas')}`
}

function countAt(object: JsonObject, ...path: readonly string[]): string {
  return scalarText(valueAt(object, ...path)) || '0'
}

/** A field of every container, comma-separated. */
function containers(object: JsonObject, field: string): string {
  const all = arrayAt(object, 'spec', 'template', 'spec', 'containers')
  return all.map((container) => stringAt(container, field)).join(',')
}
