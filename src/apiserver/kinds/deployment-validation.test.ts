import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

function rejected(parts: Raw): readonly string[] {
  const object = { metadata: { name: 'x', namespace: 'shop' }, ...parts }
  return placesOf(validateObject('Deployment', applyDefaults('Deployment', object)))
}

const TEMPLATE = {
  metadata: { labels: { app: 'web', tier: 'front' } },
  spec: { containers: [{ name: 'main' }], serviceAccountName: 'web' },
}
const SPEC = { selector: { matchLabels: { app: 'web' } }, template: TEMPLATE }

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ replicas: 0, paused: true, strategy: { type: 'Recreate' } }, []],
  [{ strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: '0%' } } }, []],
  [{ replicas: -1 }, ['spec.replicas -1']],
  [{ strategy: { type: 'Big' } }, ['spec.strategy.type "Big"']],
  [
    { strategy: { rollingUpdate: { maxSurge: 'x' } } },
    ['spec.strategy.rollingUpdate.maxSurge "x"'],
  ],
  [{ strategy: { type: 'Recreate', rollingUpdate: {} } }, ['spec.strategy.rollingUpdate {}']],
  [{ strategy: { rollingUpdate: { maxSurge: '200%', maxUnavailable: '100%' } } }, []],
  [
    { strategy: { rollingUpdate: { maxUnavailable: '101%' } } },
    ['spec.strategy.rollingUpdate.maxUnavailable "101%"'],
  ],
  [
    { strategy: { rollingUpdate: { maxSurge: '0%', maxUnavailable: 0 } } },
    ['spec.strategy.rollingUpdate.maxUnavailable 0'],
  ],
  [{ minReadySeconds: 599 }, []],
  [{ minReadySeconds: 600 }, ['spec.progressDeadlineSeconds 600']],
  [{ minReadySeconds: 5, progressDeadlineSeconds: 5 }, ['spec.progressDeadlineSeconds 5']],
  [{ selector: undefined }, ['spec.selector (absent)']],
  [{ selector: {} }, ['spec.selector {}']],
  [{ selector: { matchLabels: { app: 'x' } } }, ['spec.selector {"matchLabels":{"app":"x"}}']],
])('a Deployment with %j: rejected fields %j', (spec, expected) => {
  expect(rejected({ spec: { ...SPEC, ...spec } })).toEqual(expected)
})

test.each<[Raw, readonly string[]]>([
  [{ serviceAccountName: 'A b' }, ['serviceAccountName "A b"']],
  [{ containers: [] }, ['containers []']],
  [{ restartPolicy: 'Never' }, ['restartPolicy "Never"']],
])('a Pod template with %j: rejected fields %j', (pod, expected) => {
  const template = { ...TEMPLATE, spec: { ...TEMPLATE.spec, ...pod } }
  const found = expected.map((field) => `spec.template.spec.${field}`)
  expect(rejected({ spec: { ...SPEC, template } })).toEqual(found)
})
