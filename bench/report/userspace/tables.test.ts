import { expect, test } from 'vitest'
import type { SubjectName, UserspaceCell } from './results.ts'
import { headroom, throughputTable } from './tables.ts'

function cell(subject: SubjectName, ...gigabytesPerSecond: readonly number[]): UserspaceCell {
  const streams = { gigabytesPerSecond, cpuSecondsPerGigabyte: gigabytesPerSecond.map(() => 0) }
  return { subject, measured: { streams } }
}

test('the generator is compared with the fastest proxy, not with DNAT', () => {
  const proxies = [cell('haproxy-splice', 1, 1, 1), cell('native', 2, 2, 3)]
  const kernel = [cell('direct', 5, 6, 7), cell('dnat', 5, 5, 5)]
  expect(headroom([...kernel, ...proxies])).toBe(3)
  expect(headroom(proxies)).toBeUndefined()
})

test('a row without figures has the reason, and shows no processor time without a process', () => {
  const broken: UserspaceCell = { subject: 'javascript', unfinished: 'gone', measured: {} }
  const rows = throughputTable([cell('haproxy-splice', 2), cell('direct', 4), broken]).split('\n')
  expect(rows[3]).toMatch(
    /^\| no proxy \| routed \|.* 4\.00 \(4\.00–4\.00\) \| 2\.00 .* – \| {2}\|$/,
  )
  expect(rows[4]).toMatch(/^\| node-proxy \| javascript \| –.* gone \|$/)
})
