import { expect, test } from 'vitest'
import type { NftablesCell } from './results.ts'
import { burstTable, changeTable, countingTable, fullSyncTable, stallTable } from './tables.ts'

function rowOf(table: string): readonly string[] {
  const row = table.split('\n')[2] ?? ''
  return row.split('|').map((each) => each.trim())
}

test('a row without figures has its place and the reason', () => {
  const cell: NftablesCell = { services: 50_000, endpoints: 2, unfinished: 'gone', measured: {} }
  expect(fullSyncTable([cell])).toMatch(/\n\| 50,000 \| 2 \| –.*– \| gone \|$/)
  expect(stallTable([cell])).toMatch(/\n\| 50,000 \| 2 (?:\| – )+\|$/)
})

test('a full sync is compared with the median of the raw sender', () => {
  const raw = { ms: [100, 200, 900], cpuSeconds: [0.1], transactions: 25, bytes: 1, longestMs: [7] }
  const fullSync = { fromStart: [1_000], fromListed: [500], cpuSeconds: [0.8] }
  const cell = { services: 1_000, endpoints: 10, measured: { fullSync, rawFullSync: raw } }
  const shown = ['0.20 (0.10–0.90)', '0.50 (0.50–0.50)', '1.00 (1.00–1.00)', '2.50', '0.10', '0.80']
  expect(rowOf(fullSyncTable([cell]))).toEqual([
    '',
    '1,000',
    '10',
    ...shown,
    '25',
    '7.0 (7.0–7.0)',
    '',
    '',
  ])
})

test('what comes after the answer is the median of differences, and raw is of replacements only', () => {
  const changes = { ms: [5, 9, 10], writeMs: [1, 8, 8], cpuSecondsEach: 0.0021 }
  const measured = { replace: changes, add: changes, rawReplace: [0.2] }
  const cell = { services: 100, endpoints: 10, measured }
  const rest = ['9.0 (5.0–10.0)', '10.0', '8.0', '2.0', '2.1', '']
  const replaced = ['', '100', '10', '0.20 (0.20–0.20)', ...rest]
  expect(rowOf(changeTable([cell], 'replace'))).toEqual(replaced)
  expect(rowOf(changeTable([cell], 'add'))).toEqual(['', '100', '10', '–', ...rest])
  const burst = { changes: 100, ms: [150, 100], writeMs: [100, 90] }
  const row = rowOf(burstTable([{ ...cell, measured: { burst, rawBurst: [2] } }]))
  expect(row.slice(3, -1)).toEqual(['2.0 (2.0–2.0)', '100 (100–150)', '90', '10 (10–50)'])
})

test('waits of a cold start stand beside those without one', () => {
  const of = (...longest: readonly number[]) => ({ count: [1_500], p99: [0.5, 2], longest })
  const quiet = { transaction: of(1, 2), list: of(3), packet: of(4) }
  const coldStart = { transaction: of(10, 30, 20), list: of(6), packet: of(7) }
  const cell = { services: 10_000, endpoints: 10, measured: { stall: { quiet, coldStart } } }
  expect(rowOf(stallTable([cell])).slice(3, -1)).toEqual([
    '1.0 (1.0–2.0)',
    '20.0 (10.0–30.0)',
    '3.0 (3.0–3.0)',
    '6.0 (6.0–6.0)',
    '4.0 (4.0–4.0)',
    '7.0 (7.0–7.0)',
    '0.5 / 0.5 / 0.5',
    '1,500 / 1,500 / 1,500',
  ])
})

test('counters cost what a Service with them takes longer than one without, each beside no Service', () => {
  const counting = {
    without: [
      { direct: 10, forwarded: 11 },
      { direct: 20, forwarded: 22 },
    ],
    with: [{ direct: 10, forwarded: 12.1 }],
  }
  const cells = [
    { services: 100, endpoints: 10, measured: {} },
    { services: 1_000, endpoints: 10, measured: { counting } },
  ]
  const shown = ['10.0 (10.0–20.0)', '1.100 (1.100–1.100)', '1.210 (1.210–1.210)', '10.0']
  expect(rowOf(countingTable(cells))).toEqual(['', '1,000', '10', ...shown, ''])
})
