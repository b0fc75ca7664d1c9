import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { validateObject } from './testing/rules-by-kind.ts'

const METADATA = { name: 'dns', namespace: 'kube-system' }
const SELECTOR = { matchLabels: { app: 'dns' } }

test.each<[Raw, readonly string[]]>([
  [{ maxUnavailable: 1, selector: SELECTOR }, []],
  [{ minAvailable: '50%', unhealthyPodEvictionPolicy: 'AlwaysAllow' }, []],
  [{ maxUnavailable: 0 }, []],
  [{ maxUnavailable: -1 }, ['spec.maxUnavailable -1']],
  [{ minAvailable: 'half' }, ['spec.minAvailable "half"']],
  [{ minAvailable: 1, maxUnavailable: 1 }, ['spec.maxUnavailable 1']],
  [{ unhealthyPodEvictionPolicy: 'Never' }, ['spec.unhealthyPodEvictionPolicy "Never"']],
  [
    { selector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } },
    ['spec.selector.matchExpressions[0].operator "Is"'],
  ],
])('a PodDisruptionBudget with %j: rejected fields %j', (spec, expected) => {
  const object = { metadata: METADATA, spec }
  expect(placesOf(validateObject('PodDisruptionBudget', object))).toEqual(expected)
})
