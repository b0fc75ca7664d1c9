import { expect, test } from 'vitest'
import { clusterPageSection } from './section.ts'

test('figures with the page open are compared with those of the same round without', () => {
  const text = clusterPageSection({
    startedAt: '2030-01-02',
    quick: true,
    busyPercent: 3,
    nodes: 1_500,
    services: 10,
    machine: { cores: 2, kernel: '6.1', node: 'v26' },
    without: { cpuPercent: [2, 4, 0], residentKib: [102_400, 102_400, 102_400] },
    open: { cpuPercent: [4, 4, 4], residentKib: [204_800, 102_400, 102_400] },
    page: {
      nodesMs: [2_500, 3_500],
      serviceMs: [900],
      longestTaskMs: [0, 61],
      frameP99Ms: [7.25],
    },
  })
  expect(text).toContain(
    '| the page is open |  | 4.0 (4.0–4.0) | 2.0 (0.0–4.0) | 100 (100–200) | 1.00 (1.00–2.00) |',
  )
  expect(text).toContain('| signed in, until every node was read, ms |  | 2500 (2500–3500) |')
  expect(text).toContain('| longest task, ms; 0: none took 50 |  | 0 (0–61) |')
  expect(text).toMatch(/quick run.*1,500 nodes/s)
})
