import { expect, test } from 'vitest'
import { policySection } from './section.ts'

const CONDITIONS = {
  startedAt: '2030-01-02',
  machine: { cores: 2, kernel: '6.1', node: 'v26' },
  rounds: 3,
}

test('changes show hundredths and their factor, other figures tenths', () => {
  const three = (median: number) => ({ median, least: median / 2, most: median * 2 })
  const figures = [
    { peers: 5_000, name: 'full sync, ms', ours: three(300), raw: three(40), factor: three(7.5) },
    { peers: 5_000, name: 'a Pod added, in force, p50, ms', ours: three(2.5) },
  ]
  const text = policySection({ sync: { ...CONDITIONS, policies: 100, local: 200, figures } })
  expect(text).toContain(
    '| 5,000 | full sync, ms | 300.0 (150.0–600.0) | 40.0 (20.0–80.0) | 7.5 (3.8–15.0) |',
  )
  expect(text).toContain('| 2.50 (1.25–5.00) | – | – |')
  expect(text).not.toContain('packets between')
})

test('a case without tables and one with policies are told apart', () => {
  const quartiles = { median: 50, first: 40, third: 60 }
  const figure = { value: quartiles, ratio: { median: 1, first: 0.9, third: 1.1 } }
  const figures = { connect: figure, roundTrip: figure, stream: figure }
  const cases = [figures, { ...figures, policies: 0 }, { ...figures, policies: 100 }]
  const text = policySection({ packets: { ...CONDITIONS, services: 200, repeated: 2, cases } })
  const row = '50.0 (40.0–60.0) | 1.00 (0.90–1.10)'
  for (const name of ['no tables', '0', '100']) expect(text).toContain(`| ${name} |  | ${row} |`)
})

test('what never came says so, and Pods that no policy isolates have no forbidden packets', () => {
  const times = { p50: 1, p99: 2 }
  const setting = {
    name: 'deny',
    allowed: { ...times, most: 3 },
    allowedAfterReport: times,
    firstConnection: times,
  }
  const forbidden = { pods: 0, of: 120 }
  const settings = [setting, { ...setting, name: 'isolated', forbidden }]
  const pods = { pods: 40, parallel: 4, reportAfter: 300 }
  const text = policySection({ start: { ...CONDITIONS, ...pods, settings } })
  expect(text).toContain(
    '| deny |  | 1.0, 2.0 (3.0) | 1.0, 2.0 (never) | 1.0, 2.0 (never) | – | – |',
  )
  expect(text).toContain(
    '| isolated |  | 1.0, 2.0 (3.0) | 1.0, 2.0 (never) | 1.0, 2.0 (never) | – | 0 of 120 |',
  )
})
