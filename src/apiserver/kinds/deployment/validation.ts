import { isIntegerIn } from '../../../resources/integer.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkField, checkOneOf } from '../shared/checks.ts'
import { keepField } from '../shared/immutable.ts'
import { checkLabelSelector, isEmptySelector, selects } from '../shared/label-selector.ts'
import { checkPodSpec } from '../shared/pod-spec/validation.ts'

const COUNTS = ['replicas', 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds']
const SHARE = /^\d{1,3}%$/

/** A Deployment is data: nothing creates its pods here. */
export function checkDeployment(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of COUNTS) checkField(spec, key, isCount, 'must be an integer of at least 0')
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
    checkField(rolling, key, isAmount, 'must be a count of pods or a share such as 25%')
  }
}

function isCount(value: unknown): boolean {
  return isIntegerIn(value, 0, 2 ** 31 - 1)
}

function isAmount(value: unknown): boolean {
  return isCount(value) || (typeof value === 'string' && SHARE.test(value))
}

/** The selector is fixed. */
export function keepDeployment(next: Reader, old: Reader): void {
  keepField(next.object('spec'), old.object('spec'), 'selector')
}
