import { expect, test } from 'vitest'
import { type JsonObject, mergePatch, objectAt } from '../../lib/json.ts'
import {
  KUBE_PROXY_BY_LABEL,
  KUBE_PROXY_RETURNING,
  placementPatch,
  type Rule,
  ruleOf,
  servedBy,
} from './placement.ts'

const linux = { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }
const required = (...terms: JsonObject[]): JsonObject => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
})

const daemonSet = (affinity?: JsonObject): JsonObject => ({
  metadata: { resourceVersion: '7' },
  spec: { template: { spec: affinity === undefined ? {} : { affinity } } },
})

function placed(object: JsonObject, rule: Rule | undefined): JsonObject {
  const { spec } = placementPatch(object, rule)
  return mergePatch(object, { spec: spec ?? {} }) as JsonObject
}

test.each<[string, JsonObject | undefined]>([
  ['none', undefined],
  ['a requirement of its own', required({ matchExpressions: [linux] })],
  [
    'two alternatives, one by field',
    required(
      { matchExpressions: [linux] },
      {
        matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }],
        matchExpressions: [],
      },
    ),
  ],
  [
    'a preference',
    { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] } },
  ],
  ['an affinity to Pods', { podAffinity: { a: 1 } }],
])(
  'a DaemonSet with %s is given a requirement, another one, and is in the end what it was',
  (_name, affinity) => {
    const before = daemonSet(affinity)
    const first = placed(before, KUBE_PROXY_BY_LABEL)
    expect(ruleOf(before)).toBeUndefined()
    expect(ruleOf(first)).toEqual(KUBE_PROXY_BY_LABEL)
    const second = placed(first, KUBE_PROXY_RETURNING)
    expect(ruleOf(second)).toEqual(KUBE_PROXY_RETURNING)
    expect(placed(second, undefined)).toEqual(before)
  },
)

test('alternatives keep what they require; each has the requirement', () => {
  const after = placed(
    daemonSet(required({ matchExpressions: [linux] }, { matchExpressions: [linux] })),
    KUBE_PROXY_BY_LABEL,
  )
  const ours = { key: 'orch.io/service-proxy', operator: 'NotIn', values: ['node-proxy'] }
  const term = { matchExpressions: [linux, ours] }
  expect(objectAt(after, 'spec', 'template', 'spec', 'affinity')).toEqual(required(term, term))
  expect(placementPatch(after, undefined)['metadata']).toEqual({ resourceVersion: '7' })
})

test('what serves a node without the label', () => {
  expect(servedBy('', KUBE_PROXY_BY_LABEL, 'absent')).toBe('kube-proxy')
  expect(servedBy('', undefined, undefined)).toBe('both')
  expect(servedBy('', KUBE_PROXY_RETURNING, undefined)).toBe('node-proxy')
  expect(servedBy('cilium', undefined, undefined)).toBeUndefined()
})
