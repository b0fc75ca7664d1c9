import { expect, test } from 'vitest'
import { readTrafficDistribution } from './service-object.ts'

const ORCH_HINTS = 'service.orch.io/topology-aware-hints'
const HINTS = 'service.kubernetes.io/topology-aware-hints'
const MODE = 'service.kubernetes.io/topology-mode'

test.each([
  [{}, '', undefined],
  [{ [ORCH_HINTS]: 'auto' }, '', 'Auto'],
  [{ [HINTS]: 'Auto' }, '', 'Auto'],
  [{ [MODE]: 'Auto' }, '', 'Auto'],
  [{ 'service.orch.io/topology-mode': 'auto' }, '', 'Auto'],
  [{ [MODE]: 'AUTO' }, '', undefined],
  [{ [MODE]: 'Disabled' }, '', undefined],
  [{ [HINTS]: 'disabled', [MODE]: 'Auto' }, '', undefined],
  [{}, 'PreferClose', 'SameZone'],
  [{}, 'PreferSameZone', 'SameZone'],
  [{}, 'PreferSameNode', 'SameNode'],
  [{}, 'constructor', undefined],
  [{ [MODE]: 'Auto' }, 'PreferSameNode', 'Auto'],
  [{ [MODE]: 'Disabled' }, 'PreferSameNode', 'SameNode'],
])('annotations %j and trafficDistribution %j give the rule %s', (annotations, field, expected) => {
  expect(readTrafficDistribution(annotations as Record<string, string>, field)).toBe(expected)
})
