import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { selects } from '../../resources/label-selector.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { ownField, type Raw, type Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn, wideColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import {
  checkField,
  checkInteger,
  checkOneOf,
  checkUnchanged,
  isInt32From,
} from './shared/checks.ts'
import { change, fill } from './shared/edit.ts'
import {
  checkLabelSelector,
  isEmptySelector,
  queryText,
  selectorText,
} from './shared/label-selector.ts'
import { defaultPodSpec } from './shared/pod-spec/defaults.ts'
import { checkPodSpec } from './shared/pod-spec/validation.ts'

const NON_NEGATIVE = [
  'replicas',
  'minReadySeconds',
  'revisionHistoryLimit',
  'progressDeadlineSeconds',
]
const PERCENTAGE = /^\d{1,3}%$/

const SPEC = { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }
const ROLLING_UPDATE = { maxUnavailable: '25%', maxSurge: '25%' }

/** The columns of `kubectl get deployments`. */
const columns: readonly Column[] = [
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
  scale: { selector: (object) => queryText(valueAt(object, 'spec', 'selector')) },
  countsGenerations: true,
  columns,
  validate: checkDeployment,
  validateUpdate: checkDeploymentUpdate,
  defaults: defaultDeployment,
}

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

/** The defaults of apps/v1. */
function defaultDeployment(deployment: Raw): Raw {
  return change(deployment, 'spec', (given) => {
    const spec = change(fill(given, SPEC), 'strategy', defaultStrategy)
    return change(spec, 'template', (template) => change(template, 'spec', defaultPodSpec))
  })
}

function defaultStrategy(given: Raw): Raw {
  const strategy = fill(given, { type: 'RollingUpdate' })
  if (ownField(strategy, 'type') !== 'RollingUpdate') return strategy
  return change(strategy, 'rollingUpdate', (rolling) => fill(rolling, ROLLING_UPDATE))
}

/**
 * The rules of apps/v1. A Deployment is only stored: this project has no controller that creates its Pods.
 * Accessors such as `spec.flag` report values of the wrong type.
 */
function checkDeployment(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of NON_NEGATIVE) checkInteger(spec, key, 0)
  spec.flag('paused')
  checkStrategy(spec.object('strategy'))
  const template = spec.object('template')
  checkSelector(spec, template.object('metadata').object('labels'))
  const pod = template.object('spec')
  checkPodSpec(pod)
  if (pod.value('restartPolicy') !== 'Always') pod.refuse('restartPolicy', 'must be Always')
}

function checkSelector(spec: Reader, labels: Reader): void {
  const selector = spec.object('selector')
  checkLabelSelector(selector)
  if (isEmptySelector(selector)) spec.refuse('selector', 'must select something')
  else if (!selects(selector, labels)) {
    spec.refuse('selector', 'must select the labels of spec.template')
  }
}

function checkStrategy(strategy: Reader): void {
  checkOneOf(strategy, 'type', ['RollingUpdate', 'Recreate'])
  if (strategy.value('type') === 'Recreate' && strategy.value('rollingUpdate') !== undefined) {
    strategy.refuse('rollingUpdate', 'must be absent when type is Recreate')
  }
  const rolling = strategy.object('rollingUpdate')
  for (const key of ['maxSurge', 'maxUnavailable']) {
    checkField(rolling, key, isCountOrPercentage, 'must be a count of pods or a share such as 25%')
  }
}

function isCountOrPercentage(value: unknown): boolean {
  return isInt32From(value, 0) || (typeof value === 'string' && PERCENTAGE.test(value))
}

/** The selector is immutable, as in apps/v1. */
function checkDeploymentUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next.object('spec'), old.object('spec'), 'selector')
}
