import { expect, test } from 'vitest'
import type { RequestsCell, SubjectName } from './results.ts'
import { decisionsTable, floodTable, requestsTable } from './tables.ts'

function rowsOf(table: string): readonly string[] {
  return table.split('\n').slice(2)
}

test('decisions are shown beside the scan, with the medians’ ratio', () => {
  const decisions = { roles: 1, bindings: 1, indexedPerSecond: [10, 30, 40] }
  expect(rowsOf(decisionsTable({ ...decisions, scannedPerSecond: [2, 3, 4] }))).toEqual([
    '| by subject |  | 30 (10–40) | 10.00 |',
    '| a scan of all bindings |  | 3 (2–4) | 1.00 |',
  ])
})

test('subjects are compared with no users, and the audited one with the same that is not', () => {
  const cell = (subject: SubjectName, perSecond: number, droppedEvents = 0): RequestsCell => {
    const cost = { perSecond: [perSecond], cpuMicros: [7] }
    return { subject, create: cost, get: cost, droppedEvents }
  }
  const cells = [cell('ignored', 100), cell('token', 80), cell('audited', 60, 5)]
  const rows = rowsOf(requestsTable(cells))
  expect(rows.slice(0, 3)).toEqual([
    '| create Service | no users, a token that is ignored | 100 (100–100) | 7 (7–7) | – | – | – |',
    '| create Service | token | 80 (80–80) | 7 (7–7) | 0.80 (0.80–0.80) | – | – |',
    '| create Service | token, audited | 60 (60–60) | 7 (7–7) | 0.60 (0.60–0.60) | 0.75 (0.75–0.75) | 5 |',
  ])
  expect(rows.slice(3).map((row) => row.split(' | ')[0])).toEqual(Array(3).fill('| get Service'))
})

test('a flood is shown beside the same client alone, and by how much was refused', () => {
  const waits = (p99: readonly number[]) => ({ p50: [1, 1], p99 })
  const load = { requestsPerSecond: 100, attackers: 16, refusedPerSecond: [500, 480] }
  const table = floodTable({ ...load, quiet: waits([2, 4]), flooded: waits([3, 8]) })
  expect(rowsOf(table)).toEqual([
    '| alone | 1.00 (1.00–1.00) | 2.00 (2.00–4.00) | 1.00 (1.00–1.00) | – |',
    '| in a flood | 1.00 (1.00–1.00) | 3.00 (3.00–8.00) | 1.50 (1.50–2.00) | 480 (480–500) |',
  ])
})
