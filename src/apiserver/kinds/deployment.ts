import { readMetadata } from '../../resources/metadata.ts'
import type { Raw, Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import {
  checkCountOrPart,
  checkCountOrPercentage,
  checkInteger,
  checkOneOf,
  isInt32From,
  isNoPods,
} from './shared/checks.ts'
import { change, fill } from './shared/edit.ts'
import { queryText } from './shared/label-selector.ts'
import {
  checkSelectorUnchanged,
  checkTemplate,
  containerColumns,
  countAt,
  defaultStrategy,
  defaultTemplate,
  readyColumn,
  selectorColumn,
  selectorOf,
} from './shared/pod-spec/pod-template.ts'

const NON_NEGATIVE = [
  'replicas',
  'minReadySeconds',
  'revisionHistoryLimit',
  'progressDeadlineSeconds',
]

const SPEC = { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }
const ROLLING_UPDATE = { maxUnavailable: '25%', maxSurge: '25%' }

/** The columns of `kubectl get deployments`. */
const columns: readonly Column[] = [
  nameColumn,
  readyColumn,
  column('Up-to-date', 'Pods of the current template.', (object) =>
    countAt(object, 'status', 'updatedReplicas'),
  ),
  column('Available', 'Pods that have been ready for long enough.', (object) =>
    countAt(object, 'status', 'availableReplicas'),
  ),
  ageColumn,
  ...containerColumns,
  selectorColumn,
]

/** apps/v1 Deployment with the subresources status and scale. */
export const deployments: Resource = {
  plural: 'deployments',
  singular: 'deployment',
  kind: 'Deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  namespaced: true,
  versions: [{ group: 'apps', version: 'v1' }],
  status: { initial: () => ({}) },
  scale: { selector: (object) => queryText(selectorOf(object)) },
  countsGenerations: true,
  columns,
  validate: checkDeployment,
  validateUpdate: checkSelectorUnchanged,
  defaults: defaultDeployment,
}

/** The defaults of apps/v1. */
function defaultDeployment(deployment: Raw): Raw {
  return change(deployment, 'spec', (given) => {
    return defaultTemplate(
      change(fill(given, SPEC), 'strategy', (strategy) =>
        defaultStrategy(strategy, ROLLING_UPDATE),
      ),
    )
  })
}

/** The rules of apps/v1. Accessors such as `spec.flag` report values of the wrong type. */
function checkDeployment(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of NON_NEGATIVE) checkInteger(spec, key, 0)
  checkDeadline(spec)
  spec.flag('paused')
  checkStrategy(spec.object('strategy'))
  checkTemplate(spec)
}

function checkStrategy(strategy: Reader): void {
  checkOneOf(strategy, 'type', ['RollingUpdate', 'Recreate'])
  if (strategy.value('type') === 'Recreate' && strategy.value('rollingUpdate') !== undefined) {
    strategy.refuse('rollingUpdate', 'must be absent when type is Recreate')
  }
  const rolling = strategy.object('rollingUpdate')
  checkCountOrPercentage(rolling, 'maxSurge')
  checkCountOrPart(rolling, 'maxUnavailable')
  if (['maxSurge', 'maxUnavailable'].every((key) => isNoPods(rolling.value(key)))) {
    rolling.refuse('maxUnavailable', 'must not be 0 when maxSurge is 0')
  }
}

/** A Pod makes progress only when it is available, so the deadline must be later than `minReadySeconds`. */
function checkDeadline(spec: Reader): void {
  const [deadline, ready = 0] = ['progressDeadlineSeconds', 'minReadySeconds'].map((key) =>
    spec.value(key),
  )
  if (!isInt32From(deadline, 0) || !isInt32From(ready, 0) || deadline > ready) return
  spec.refuse('progressDeadlineSeconds', 'must be greater than minReadySeconds')
}
