import { shortDuration } from '../../lib/duration.ts'
import { type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { selects } from '../../resources/label-selector.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isLabel, isLabelValue, isQualifiedName } from '../../resources/names.ts'
import { isRaw, ownField, type Raw, Reader } from '../../resources/reader.ts'
import { readCondition } from '../../resources/status-condition.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import { checkField, checkInteger, checkOneOf, checkUnchanged } from './shared/checks.ts'
import { change, fill } from './shared/edit.ts'
import {
  checkSelectorUnchanged,
  checkTemplate,
  containerColumns,
  countAt,
  defaultTemplate,
  selectorColumn,
} from './shared/pod-spec/pod-template.ts'

const NON_NEGATIVE = [
  'parallelism',
  'completions',
  'backoffLimit',
  'activeDeadlineSeconds',
  'ttlSecondsAfterFinished',
]
const IMMUTABLE = ['template', 'completionMode', 'managedBy']
/** Without their effect a Job would run Pods that it must not run, so they are refused. */
const UNSUPPORTED = [
  'podFailurePolicy',
  'successPolicy',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
]
const UNSUPPORTED_FAULT = 'is not supported by this server; leave it out'
const MANAGER_FAULT = 'must name a controller, such as example.com/controller'
const NAME_FAULT = 'must have at most 63 characters: the pods have it as a label'
const RESTARTS = ['Never', 'OnFailure']

const SPEC = {
  parallelism: 1,
  backoffLimit: 6,
  completionMode: 'NonIndexed',
  suspend: false,
  podReplacementPolicy: 'TerminatingOrFailed',
}

/** A label of the Pods of one Job, by which it selects them: its uid. */
const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid'

/** As in Kubernetes since 1.30; before, there was no `STATUS`. */
const columns: readonly Column[] = [
  nameColumn,
  column('Status', 'Whether it runs, or how it ended.', statusOf),
  column('Completions', 'Pods that succeeded of the desired number.', completionsOf),
  column('Duration', 'How long it has run, or ran.', durationOf),
  ageColumn,
  ...containerColumns,
  selectorColumn,
]

/** batch/v1 Job with the subresource status. */
export const jobs: Resource = {
  plural: 'jobs',
  singular: 'job',
  kind: 'Job',
  categories: ['all'],
  namespaced: true,
  versions: [{ group: 'batch', version: 'v1' }],
  status: { initial: () => ({}) },
  countsGenerations: true,
  fields: (object) => ({ 'status.successful': countAt(object, 'status', 'succeeded') }),
  columns,
  validate: checkJob,
  validateUpdate: checkJobUpdate,
  defaults: defaultJob,
}

function statusOf(job: JsonObject): string {
  const status = valueAt(job, 'status')
  const has = (type: string): boolean => readCondition(status, type).status === 'True'
  const ended = ['Complete', 'Failed'].find(has)
  if (ended !== undefined) return ended
  if (stringAt(job, 'metadata', 'deletionTimestamp') !== '') return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has) ?? 'Running'
}

function completionsOf(job: JsonObject): string {
  const succeeded = countAt(job, 'status', 'succeeded')
  const completions = scalarText(valueAt(job, 'spec', 'completions'))
  if (completions !== '') return `${succeeded}/${completions}`
  const parallelism = Number(countAt(job, 'spec', 'parallelism'))
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function durationOf(job: JsonObject, now: number): string {
  const [start, end] = ['startTime', 'completionTime'].map((field) =>
    Date.parse(stringAt(job, 'status', field)),
  )
  return Number.isNaN(start) ? '' : shortDuration(((end || now) - start!) / 1000)
}

/** The defaults of batch/v1; a Job without labels has those of its Pods. */
function defaultJob(job: Raw): Raw {
  const metadata = rawAt(job, 'metadata')
  const filled = change(job, 'spec', (given) => withOwnLabels(defaultSpec(given), metadata))
  const labels = rawAt(rawAt(rawAt(filled, 'spec'), 'template'), 'metadata', 'labels')
  const isLabelled = Object.keys(rawAt(metadata, 'labels')).length > 0
  if (isLabelled || Object.keys(labels).length === 0) return filled
  return change(filled, 'metadata', (all) => ({ ...all, labels }))
}

function defaultSpec(given: Raw): Raw {
  const isSingle = ['completions', 'parallelism'].every((key) => ownField(given, key) === undefined)
  return defaultTemplate(fill(given, { ...SPEC, ...(isSingle && { completions: 1 }) }))
}

/** Unless `manualSelector` is set, the Pods have labels that tell them from those of all other Jobs. */
function withOwnLabels(spec: Raw, metadata: Raw): Raw {
  const own = ownLabels(metadata)
  if (own === undefined || ownField(spec, 'manualSelector') === true) return spec
  const labelled = change(spec, 'template', (template) =>
    change(template, 'metadata', (all) => change(all, 'labels', (labels) => fill(labels, own))),
  )
  return change(labelled, 'selector', (selector) =>
    change(selector, 'matchLabels', (labels) =>
      fill(labels, { [CONTROLLER_UID]: own[CONTROLLER_UID] }),
    ),
  )
}

/** Labels of the Pods of a Job under their names of today and of before Kubernetes 1.27; undefined: it has no uid yet. */
function ownLabels(metadata: Raw): Raw | undefined {
  const [uid, name] = [ownField(metadata, 'uid'), ownField(metadata, 'name')]
  if (typeof uid !== 'string' || uid === '') return undefined
  return {
    [CONTROLLER_UID]: uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  }
}

function rawAt(object: Raw, ...path: readonly string[]): Raw {
  return path.reduce<Raw>((at, key) => {
    const value = ownField(at, key)
    return isRaw(value) ? value : {}
  }, object)
}

/** The rules of batch/v1. */
function checkJob(object: Reader): void {
  const metadata = readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of NON_NEGATIVE) checkInteger(spec, key, 0)
  checkOneOf(spec, 'completionMode', ['NonIndexed', 'Indexed'])
  checkOneOf(spec, 'podReplacementPolicy', ['TerminatingOrFailed', 'Failed'])
  checkField(spec, 'managedBy', isController, MANAGER_FAULT)
  for (const key of ['suspend', 'manualSelector']) spec.flag(key)
  for (const key of UNSUPPORTED) {
    if (spec.value(key) !== undefined) spec.refuse(key, UNSUPPORTED_FAULT)
  }
  if (spec.value('completionMode') === 'Indexed') checkIndexes(spec, metadata?.name ?? 'x')
  checkTemplate(spec, { restarts: RESTARTS })
  if (spec.value('manualSelector') !== true) checkOwnLabels(object)
}

function isController(value: unknown): boolean {
  return typeof value === 'string' && value.includes('/') && isQualifiedName(value)
}

/** A Pod with an index has a host name that ends with it. */
function checkIndexes(spec: Reader, name: string): void {
  const completions = spec.value('completions')
  if (completions === undefined) {
    spec.refuse('completions', 'must be given when completionMode is Indexed')
  }
  const longest = `${name}-${Math.max(0, Number(completions ?? 0) - 1)}`
  if (!isLabel(longest)) {
    spec.refuse(
      'completions',
      `must leave ${longest} a valid host name; give the Job a shorter name`,
    )
  }
}

/** The labels that the server adds may not be given with other values, nor may others be selected. */
function checkOwnLabels(object: Reader): void {
  const metadata = object.object('metadata')
  const name = metadata.value('name')
  if (typeof name === 'string' && !isLabelValue(name)) metadata.refuse('name', NAME_FAULT)
  const own = ownLabels({ uid: metadata.value('uid'), name })
  if (own === undefined) return
  const spec = object.object('spec')
  const labels = spec.object('template').object('metadata').map('labels')
  for (const [key, value] of Object.entries(own)) {
    if (labels.value(key) !== value)
      labels.refuse(key, `must be ${JSON.stringify(value)}, or absent`)
  }
  if (!selects(spec.object('selector'), Reader.of(own, 'validate'))) {
    spec.refuse('selector', 'must be absent unless manualSelector is true')
  }
}

/**
 * The fields that determine the Pods are immutable, as in batch/v1. `completions` of a Job with indexes may change if
 * `parallelism` is changed to the same number.
 */
function checkJobUpdate(next: Reader, old: Reader): void {
  checkSelectorUnchanged(next, old)
  const [spec, before] = [next.object('spec'), old.object('spec')]
  for (const key of IMMUTABLE) checkUnchanged(spec, before, key)
  const isElastic =
    spec.value('completionMode') === 'Indexed' &&
    spec.value('completions') === spec.value('parallelism')
  if (!isElastic) checkUnchanged(spec, before, 'completions')
}
