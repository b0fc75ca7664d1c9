import { readMetadata } from '../../resources/metadata.ts'
import type { Raw, Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import { checkInteger } from './shared/checks.ts'
import { change, fill } from './shared/edit.ts'
import { queryText } from './shared/label-selector.ts'
import {
  checkSelectorUnchanged,
  checkTemplate,
  containerColumns,
  countAt,
  defaultTemplate,
  selectorColumn,
  selectorOf,
} from './shared/pod-spec/pod-template.ts'

const NON_NEGATIVE = ['replicas', 'minReadySeconds']

/** The columns of `kubectl get replicasets`. */
const columns: readonly Column[] = [
  nameColumn,
  column('Desired', 'Pods that there should be.', (object) => countAt(object, 'spec', 'replicas')),
  column('Current', 'Pods that there are.', (object) => countAt(object, 'status', 'replicas')),
  column('Ready', 'Pods that are ready.', (object) => countAt(object, 'status', 'readyReplicas')),
  ageColumn,
  ...containerColumns,
  selectorColumn,
]

/** apps/v1 ReplicaSet with the subresources status and scale. */
export const replicaSets: Resource = {
  plural: 'replicasets',
  singular: 'replicaset',
  kind: 'ReplicaSet',
  shortNames: ['rs'],
  categories: ['all'],
  namespaced: true,
  versions: [{ group: 'apps', version: 'v1' }],
  status: { initial: () => ({}) },
  scale: { selector: (object) => queryText(selectorOf(object)) },
  countsGenerations: true,
  columns,
  validate: checkReplicaSet,
  validateUpdate: checkSelectorUnchanged,
  defaults: defaultReplicaSet,
}

/** The defaults of apps/v1. */
function defaultReplicaSet(replicaSet: Raw): Raw {
  return change(replicaSet, 'spec', (given) => defaultTemplate(fill(given, { replicas: 1 })))
}

/** The rules of apps/v1. */
function checkReplicaSet(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of NON_NEGATIVE) checkInteger(spec, key, 0)
  checkTemplate(spec)
}
