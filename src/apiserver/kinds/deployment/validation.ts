import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { selects } from '../../../resources/selector/label-selector.ts'
import { checkField, checkInteger, checkOneOf, isInt32From } from '../shared/checks.ts'
import { checkUnchanged } from '../shared/immutable.ts'
import { checkLabelSelector, isEmptySelector } from '../shared/label-selector.ts'
import { checkPodSpec } from '../shared/pod-spec/validation.ts'

const NON_NEGATIVE = [
  'replicas',
  'minReadySeconds',
  'revisionHistoryLimit',
  'progressDeadlineSeconds',
]
const PERCENTAGE = /^\d{1,3}%$/

/**
 * The rules of apps/v1. A Deployment is only stored: this project has no controller that creates its Pods.
 * Reading a field, such as `spec.flag`, reports a value of the wrong type.
 */
export function checkDeployment(object: Reader): void {
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
export function checkDeploymentUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next.object('spec'), old.object('spec'), 'selector')
}
