import { expect, test } from 'vitest'
import type { ApiserverCell } from './results.ts'
import { readsTable } from './tables.ts'

const requests = { p50: [1], p99: [2], bytes: 924, cpuMsEach: [0.1] }

test('a driver has a row for what was measured of it, with the medians’ ratio', () => {
  const get = { perSecond: [5, 10, 11], ...requests, barePerSecond: [20, 40, 20] }
  const cells: readonly ApiserverCell[] = [
    { driver: 'embedded', measured: { get } },
    { driver: 'etcd', measured: {}, unfinished: 'gone' },
  ]
  const [, , ...rows] = readsTable(cells).split('\n')
  expect(rows).toHaveLength(1)
  expect(rows[0]).toMatch(/^\| get Service \| embedded \| 10 \(5–11\) .* \| 0\.50 \|$/)
})
