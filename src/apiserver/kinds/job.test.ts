import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { startApi } from '../testing/test-api.ts'
import { applyDefaults, validateObject, validateUpdate } from './testing/rules-by-kind.ts'

const METADATA = { name: 'x', namespace: 'shop', uid: 'u1' }
const TEMPLATE = { spec: { restartPolicy: 'Never', containers: [{ name: 'main' }] } }
const OWN = {
  'batch.kubernetes.io/controller-uid': 'u1',
  'batch.kubernetes.io/job-name': 'x',
  'controller-uid': 'u1',
  'job-name': 'x',
}
const LABELLED = { ...TEMPLATE, metadata: { labels: { app: 'x' } } }
const SELECTED = { manualSelector: true, selector: { matchLabels: { app: 'x' } } }

function defaulted(spec: Raw, metadata: Raw = METADATA): Raw {
  return applyDefaults('Job', { metadata, spec: { template: TEMPLATE, ...spec } })
}

function rejected(spec: Raw, name = 'x'): readonly string[] {
  return placesOf(validateObject('Job', defaulted(spec, { ...METADATA, name })))
}

test.each<[Raw, Raw]>([
  [{}, { parallelism: 1, completions: 1 }],
  [{ parallelism: 3 }, { parallelism: 3 }],
  [{ completions: 3 }, { parallelism: 1, completions: 3 }],
])('of %j the defaults are %j', (given, counts) => {
  const { spec } = defaulted(given)
  expect(spec).toMatchObject({
    ...counts,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
  })
  expect(Object.hasOwn(spec as Raw, 'completions')).toBe(Object.hasOwn(counts, 'completions'))
})

test('Pods have the labels of their Job, and so has a Job without labels', () => {
  expect(defaulted({})).toMatchObject({
    metadata: { labels: OWN },
    spec: {
      selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u1' } },
      template: { metadata: { labels: OWN } },
    },
  })
  const labelled = defaulted({ template: LABELLED }, { ...METADATA, labels: { mine: 'yes' } })
  expect(labelled).toMatchObject({
    metadata: { labels: { mine: 'yes' } },
    spec: { template: { metadata: { labels: { app: 'x', ...OWN } } } },
  })
  expect(labelled['metadata']).not.toHaveProperty('labels.app')
})

test('with a selector of its own it gets no labels', () => {
  const { spec } = defaulted({ ...SELECTED, template: LABELLED })
  expect(spec).toMatchObject(SELECTED)
  expect(spec).toHaveProperty('template.metadata.labels', { app: 'x' })
})

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ parallelism: 0, completions: 0, backoffLimit: 0, activeDeadlineSeconds: 1 }, []],
  [{ ttlSecondsAfterFinished: 0, suspend: true, managedBy: 'example.com/other' }, []],
  [{ completionMode: 'Indexed', completions: 3, podReplacementPolicy: 'Failed' }, []],
  [{ ...SELECTED, template: LABELLED }, []],
  [{ parallelism: -1 }, ['spec.parallelism -1']],
  [{ completions: 1.5 }, ['spec.completions 1.5']],
  [{ backoffLimit: -1 }, ['spec.backoffLimit -1']],
  [{ activeDeadlineSeconds: '5' }, ['spec.activeDeadlineSeconds "5"']],
  [{ ttlSecondsAfterFinished: -1 }, ['spec.ttlSecondsAfterFinished -1']],
  [{ suspend: 'yes' }, ['spec.suspend "yes"']],
  [{ completionMode: 'Both' }, ['spec.completionMode "Both"']],
  [{ completionMode: 'Indexed', parallelism: 2 }, ['spec.completions (absent)']],
  [{ podReplacementPolicy: 'Never' }, ['spec.podReplacementPolicy "Never"']],
  [{ managedBy: 'other' }, ['spec.managedBy "other"']],
  [{ podFailurePolicy: { rules: [] } }, ['spec.podFailurePolicy {"rules":[]}']],
  [{ backoffLimitPerIndex: 1 }, ['spec.backoffLimitPerIndex 1']],
  [
    { template: { spec: { ...TEMPLATE.spec, restartPolicy: 'Always' } } },
    ['spec.template.spec.restartPolicy "Always"'],
  ],
  [
    { template: { spec: { containers: [] } } },
    ['spec.template.spec.containers []', 'spec.template.spec.restartPolicy "Always"'],
  ],
  [
    { template: { ...TEMPLATE, metadata: { labels: { 'job-name': 'other' } } } },
    ['spec.template.metadata.labels[job-name] "other"'],
  ],
  [{ manualSelector: true }, ['spec.selector (absent)']],
])('a Job with %j: rejected fields %j', (spec, expected) => {
  expect(rejected(spec)).toEqual(expected)
})

test('a selector is not given without manualSelector', () => {
  const [place] = rejected({ selector: { matchLabels: { app: 'x' } }, template: LABELLED })
  expect(place).toMatch(/^spec\.selector /)
})

test('the name becomes a label, and with indexes a host name', () => {
  const name = 'n'.repeat(62)
  const indexed = { completionMode: 'Indexed', completions: 10 }
  expect(rejected({}, name)).toEqual([])
  expect(rejected({}, `${name}.n`)).toEqual([`metadata.name "${name}.n"`])
  expect(rejected(indexed, name)).toEqual(['spec.completions 10'])
  expect(rejected(indexed, name.slice(1))).toEqual([])
})

test.each<[Raw, Raw, readonly string[]]>([
  [{ backoffLimit: 1 }, { backoffLimit: 2, parallelism: 3, suspend: true }, []],
  [{ completions: 1 }, { completions: 2 }, ['spec.completions 2']],
  [
    { completionMode: 'Indexed', completions: 1, parallelism: 1 },
    { completionMode: 'Indexed', completions: 2, parallelism: 2 },
    [],
  ],
  [{ completionMode: 'Indexed' }, {}, ['spec.completionMode (absent)']],
  [{ selector: { a: 1 } }, {}, ['spec.selector (absent)']],
  [{ template: {} }, { template: { spec: {} } }, ['spec.template {"spec":{}}']],
  [{}, { managedBy: 'a/b' }, ['spec.managedBy "a/b"']],
])('a Job of %j as %j: %j', (old, next, expected) => {
  expect(placesOf(validateUpdate('Job', { spec: next }, { spec: old }))).toEqual(expected)
})

test('a Job is made with a generated name, replaced as it was sent, and found by its labels', async () => {
  const api = await startApi()
  const path = '/apis/batch/v1/namespaces/default/jobs'
  const spec = { template: TEMPLATE }
  const made = await api.make(path, { metadata: { generateName: 'x-' }, spec })
  const { name, uid } = made['metadata'] as { name: string; uid: string }
  expect(made).toMatchObject({
    metadata: { generation: 1, labels: { 'job-name': name, 'controller-uid': uid } },
    status: {},
  })
  const body: JsonObject = { metadata: { name }, spec: { ...spec, backoffLimit: 3 } }
  const replaced = await api.call('PUT', `${path}/${name}`, { body })
  expect(replaced.body).toMatchObject({
    metadata: { generation: 2, uid },
    spec: { selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } } },
  })
  const query = `labelSelector=job-name%3D${name}&fieldSelector=status.successful%3D0`
  expect((await api.call('GET', `${path}?${query}`)).body).toMatchObject({ items: [{}] })
  expect((await api.call('DELETE', `${path}/${name}`)).status).toBe(200)
})
