import { expect, test } from 'vitest'
import { encodeReport, type Report, ReportReader } from './protocol.ts'

const reports: readonly Report[] = [
  { kind: 'beat' },
  { kind: 'message', worker: 1, data: { nested: new Map([['a', [1n, undefined]]]) } },
  { kind: 'output', worker: 2, to: 'stderr', text: 'ü'.repeat(3000) },
  { kind: 'exit', worker: 2, code: null, signal: 'SIGKILL' },
]

test.each([1, 2, 3, 5, 7, 1000, 100_000])('reads reports back from pieces of %i bytes', (size) => {
  const bytes = Buffer.concat(reports.map(encodeReport))
  const reader = new ReportReader()
  const read: Report[] = []
  for (let start = 0; start < bytes.length; start += size) {
    read.push(...reader.take(bytes.subarray(start, start + size)))
  }
  expect(read).toEqual(reports)
})
