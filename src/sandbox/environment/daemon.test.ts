import { expect, test } from 'vitest'
import { isApplied, sumOf } from './daemon.ts'

const text = `# HELP nodeproxy_applied_resource_version Revision.
# TYPE nodeproxy_applied_resource_version gauge
nodeproxy_applied_resource_version{resource="services"} 12
nodeproxy_applied_resource_version{resource="endpointslices"} 30
nodeproxy_drift_repairs_total{object="chain",cause="removed"} 2
nodeproxy_drift_repairs_total{object="rule",cause="removed"} 3
nodeproxy_drift_repairs_total_more 100
process_resident_memory_bytes 1.5e+7
`

test('adds up the samples that have the labels', () => {
  expect(sumOf(text, 'nodeproxy_drift_repairs_total')).toBe(5)
  expect(sumOf(text, 'nodeproxy_drift_repairs_total', { object: 'rule' })).toBe(3)
  expect(sumOf(text, 'process_resident_memory_bytes')).toBe(15_000_000)
  expect(sumOf(text, 'nothing')).toBe(0)
})

test.each([
  [{ services: 12 }, true],
  [{ services: 11, endpointslices: 30 }, true],
  [{ services: 13 }, false],
  [{ services: 12, endpointslices: 31 }, false],
  [{ endpoints: 1 }, false],
])('revisions %j are applied: %s', (versions, expected) => {
  expect(isApplied(text, new Map(Object.entries(versions)))).toBe(expected)
})
