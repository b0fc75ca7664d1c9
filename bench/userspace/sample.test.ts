import { expect, test } from 'vitest'
import { appendSample } from './sample.ts'

const connections = (perSecond: number, failures: number) => ({
  connections: { perSecond: [perSecond], failures: [failures] },
})

test('each round adds to its lists and leaves the others alone', () => {
  const first = appendSample({}, connections(10, 0))
  const stream = { gigabytesPerSecond: [2], cpuSecondsPerGigabyte: [0.5] }
  const second = appendSample(appendSample(first, { stream }), connections(11, 2))
  expect(second).toEqual({ connections: { perSecond: [10, 11], failures: [0, 2] }, stream })
  expect(first).toEqual(connections(10, 0))
})

test('a single figure is replaced', () => {
  const lists = { startKibibytes: [9], kibibytesEach: [3], laterKibibytesEach: [2] }
  const idle = { connections: 9_000, failures: [0], cpuPercent: [0], ...lists }
  const both = appendSample({ idle }, { idle: { ...idle, connections: 8_999 } })
  expect(both.idle).toMatchObject({ connections: 8_999, kibibytesEach: [3, 3] })
})
