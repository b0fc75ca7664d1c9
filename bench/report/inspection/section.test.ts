import { expect, test } from 'vitest'
import type { Reading } from './results.ts'
import { inspectionSection } from './section.ts'

test('figures are compared with those of the same round without a reader', () => {
  const none: Reading = {
    reader: 'none',
    p50: [10, 20],
    p99: [20, 40],
    idlePercent: [1, 1],
    cpuMsEach: [5, 5],
    residentKib: [102_400, 102_400],
    answerMs: [],
  }
  const page: Reading = { ...none, reader: 'page', p50: [11, 40], residentKib: [204_800, 102_400] }
  const commands = [
    { name: 'nft', ms: [100, 400] },
    { name: 'explain', ms: [300, 400] },
  ] as const
  const machine = { cores: 2, kernel: '6.1', node: 'v26' }
  const head = { startedAt: '2030-01-02', machine, quick: false, busyPercent: 1, services: 100 }
  const text = inspectionSection({ ...head, readings: [none, page], commands })
  expect(text).toContain(
    '| status, one Service, changes |  | 11.0 (11.0–40.0) | 1.10 (1.10–2.00) | 20.0 (20.0–40.0) | 1.00 (1.00–1.00) | – |',
  )
  expect(text).toContain('| 1.0 (1.0–1.0) | 5.0 (5.0–5.0) | 100 (100–200) | 1.00 (1.00–2.00) |')
  expect(text).toContain('| 300 (300–400) | 1.00 (1.00–3.00) |')
})
