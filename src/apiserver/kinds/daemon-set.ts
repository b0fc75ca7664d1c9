import { type JsonObject, objectAt, scalarText } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Raw, Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import { checkCountOrPart, checkInteger, checkOneOf, isNoPods } from './shared/checks.ts'
import { change, fill } from './shared/edit.ts'
import {
  checkSelectorUnchanged,
  checkTemplate,
  containerColumns,
  countAt,
  defaultStrategy,
  defaultTemplate,
  selectorColumn,
} from './shared/pod-spec/pod-template.ts'

const ROLLING_UPDATE = { maxUnavailable: 1, maxSurge: 0 }

/** The columns of `kubectl get daemonsets`. */
const columns: readonly Column[] = [
  nameColumn,
  counted('Desired', 'Nodes that should run a pod.', 'desiredNumberScheduled'),
  counted('Current', 'Nodes that should run a pod and have one.', 'currentNumberScheduled'),
  counted('Ready', 'Nodes whose pod is ready.', 'numberReady'),
  counted('Up-to-date', 'Nodes with a pod of the current template.', 'updatedNumberScheduled'),
  counted('Available', 'Nodes whose pod has been ready for long enough.', 'numberAvailable'),
  column('Node Selector', 'Labels of the nodes that run a pod.', nodeLabels),
  ageColumn,
  ...containerColumns,
  selectorColumn,
]

/** apps/v1 DaemonSet with the subresource status. */
export const daemonSets: Resource = {
  plural: 'daemonsets',
  singular: 'daemonset',
  kind: 'DaemonSet',
  shortNames: ['ds'],
  categories: ['all'],
  namespaced: true,
  versions: [{ group: 'apps', version: 'v1' }],
  status: { initial: () => ({}) },
  countsGenerations: true,
  columns,
  validate: checkDaemonSet,
  validateUpdate: checkSelectorUnchanged,
  defaults: defaultDaemonSet,
}

function counted(name: string, description: string, field: string): Column {
  return column(name, description, (object) => countAt(object, 'status', field))
}

function nodeLabels(object: JsonObject): string {
  const pairs = Object.entries(objectAt(object, 'spec', 'template', 'spec', 'nodeSelector'))
  return pairs.map(([key, value]) => `${key}=${scalarText(value)}`).join(',') || '<none>'
}

/** The defaults of apps/v1. */
function defaultDaemonSet(daemonSet: Raw): Raw {
  return change(daemonSet, 'spec', (given) => {
    const spec = fill(given, { revisionHistoryLimit: 10 })
    return defaultTemplate(
      change(spec, 'updateStrategy', (strategy) => defaultStrategy(strategy, ROLLING_UPDATE)),
    )
  })
}

/** The rules of apps/v1. */
function checkDaemonSet(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of ['minReadySeconds', 'revisionHistoryLimit']) checkInteger(spec, key, 0)
  checkStrategy(spec.object('updateStrategy'))
  checkTemplate(spec)
}

function checkStrategy(strategy: Reader): void {
  checkOneOf(strategy, 'type', ['RollingUpdate', 'OnDelete'])
  const rolling = strategy.object('rollingUpdate')
  for (const key of ['maxSurge', 'maxUnavailable']) checkCountOrPart(rolling, key)
  if (strategy.value('type') !== 'RollingUpdate') return
  const isNone = (key: string): boolean => isNoPods(rolling.value(key))
  if (isNone('maxSurge') && isNone('maxUnavailable')) {
    rolling.refuse('maxUnavailable', 'must not be 0 when maxSurge is 0')
  } else if (!isNone('maxSurge') && !isNone('maxUnavailable')) {
    rolling.refuse('maxSurge', 'must be 0 when maxUnavailable is not')
  }
}
