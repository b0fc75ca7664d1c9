import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../../../lib/json.ts'
import { selects } from '../../../../resources/label-selector.ts'
import { ownField, type Raw, type Reader } from '../../../../resources/reader.ts'
import { type Column, column, wideColumn } from '../../../resource/column.ts'
import { checkUnchanged } from '../checks.ts'
import { change, fill } from '../edit.ts'
import { checkLabelSelector, isEmptySelector, selectorText } from '../label-selector.ts'
import { defaultPodSpec } from './defaults.ts'
import { checkPodSpec } from './validation.ts'

/** The column `READY` of an object with replicas. */
export const readyColumn: Column = column(
  'Ready',
  'Ready pods of the desired number.',
  (object) =>
    `${countAt(object, 'status', 'readyReplicas')}/${countAt(object, 'spec', 'replicas')}`,
)

/** The columns of wide output that show the containers of a template. */
export const containerColumns: readonly Column[] = [
  wideColumn('Containers', 'Names of its containers.', (object) => containers(object, 'name')),
  wideColumn('Images', 'Images of its containers.', (object) => containers(object, 'image')),
]

/** The column of wide output that shows which Pods belong to the object. */
export const selectorColumn: Column = wideColumn('Selector', 'Labels of its pods.', (object) =>
  selectorText(selectorOf(object)),
)

/** The label selector of an object. */
export function selectorOf(object: JsonObject): Json | undefined {
  return valueAt(object, 'spec', 'selector')
}

/** A count as text; absent: 0. */
export function countAt(object: JsonObject, ...path: readonly string[]): string {
  return scalarText(valueAt(object, ...path)) || '0'
}

/** A field of every container of the template, comma-separated. */
function containers(object: JsonObject, field: string): string {
  const all = arrayAt(object, 'spec', 'template', 'spec', 'containers')
  return all.map((container) => stringAt(container, field)).join(',')
}

/** The spec of a workload whose Pod template has its defaults. */
export function defaultTemplate(spec: Raw): Raw {
  return change(spec, 'template', (template) => change(template, 'spec', defaultPodSpec))
}

/** A strategy for replacing Pods: RollingUpdate unless it names another one, with these values unless it has others. */
export function defaultStrategy(given: Raw, rollingUpdate: Raw): Raw {
  const strategy = fill(given, { type: 'RollingUpdate' })
  if (ownField(strategy, 'type') !== 'RollingUpdate') return strategy
  return change(strategy, 'rollingUpdate', (rolling) => fill(rolling, rollingUpdate))
}

/** The rules for the template of one kind that differ from those of other kinds. */
interface TemplateRules {
  /** Names of volumes that each Pod has beside those of the template. */
  readonly claims?: readonly unknown[]
  /** What `restartPolicy` may be. */
  readonly restarts?: readonly string[]
}

/** The rules for `selector` and `template`: the selector selects the Pods of the template. */
export function checkTemplate(
  spec: Reader,
  { claims = [], restarts = ['Always'] }: TemplateRules = {},
): void {
  const template = spec.object('template')
  const selector = spec.object('selector')
  checkLabelSelector(selector)
  if (isEmptySelector(selector)) spec.refuse('selector', 'must select something')
  else if (!selects(selector, template.object('metadata').object('labels'))) {
    spec.refuse('selector', 'must select the labels of spec.template')
  }
  const pod = template.object('spec')
  checkPodSpec(pod, claims)
  if (!restarts.some((one) => one === pod.value('restartPolicy'))) {
    pod.refuse('restartPolicy', `must be ${restarts.join(' or ')}`)
  }
}

/** The selector is immutable, as in apps/v1. */
export function checkSelectorUnchanged(next: Reader, old: Reader): void {
  checkUnchanged(next.object('spec'), old.object('spec'), 'selector')
}
