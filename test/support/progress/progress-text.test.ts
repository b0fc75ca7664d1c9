import { expect, test } from 'vitest'
import { progressText } from './progress-text.ts'

const START = { projects: [], done: 0, total: 702, failed: 0, leftMs: undefined }

test.each([
  [START, 'starting: 0 of 702 files'],
  [
    { ...START, projects: ['ipvs', 'kernel'], done: 120, leftMs: 540_000 },
    'ipvs, kernel: 120 of 702 files, about 9 min left',
  ],
  [
    { ...START, projects: ['unit'], done: 701, failed: 2, leftMs: 200 },
    'unit: 701 of 702 files, 2 failed, about 1 s left',
  ],
])('%#: %o', (progress, text) => {
  expect(progressText(progress)).toBe(text)
})
