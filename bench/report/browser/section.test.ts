import { expect, test } from 'vitest'
import { browserSection } from './section.ts'

test('figures with the page open are compared with those of the same round without', () => {
  const text = browserSection({
    startedAt: '2030-01-02',
    quick: true,
    busyPercent: 3,
    services: 10_000,
    machine: { cores: 2, kernel: '6.1', node: 'v26' },
    without: { cpuPercent: [2, 4], residentKib: [102_400, 102_400] },
    open: { cpuPercent: [4, 4], residentKib: [204_800, 102_400] },
    scrolling: { openMs: [300, 500], frameP99Ms: [7.25], longTasks: [0, 1] },
  })
  expect(text).toContain(
    '| the page is open |  | 4.0 (4.0–4.0) | 0.0 (0.0–2.0) | 100 (100–200) | 1.00 (1.00–2.00) |',
  )
  expect(text).toContain('| tasks of more than 50 ms meanwhile |  | 0 (0–1) |')
  expect(text).toMatch(/quick run.*10,000 Services/s)
})
