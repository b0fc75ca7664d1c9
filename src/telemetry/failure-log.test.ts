import { expect, it } from 'vitest'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { FailureLog, type FailureRecord } from './failure-log.ts'

function setUp() {
  const clock = new FakeClock()
  const records: unknown[] = []
  const at = (level: string) => (fields: object, text?: string) =>
    records.push([level, text, fields])
  const log = { info: at('info'), warn: at('warn'), error: at('error') }
  return { clock, records, failures: new FailureLog({ clock, log }) }
}

function record(level: FailureRecord['level'], message: string): FailureRecord {
  return { level, message, fields: { detail: message }, summary: () => ({ kind: message }) }
}

it('logs the first of many alike at once, and each minute how many followed', async () => {
  const { clock, records, failures } = setUp()
  const full = record('error', 'the disk is full')
  const first = ['error', 'the disk is full', { detail: 'the disk is full' }]
  for (let count = 0; count < 1000; count++) failures.report('full', full)
  expect(records).toEqual([first])
  await clock.advance(60_000)
  const summary = { kind: 'the disk is full', times: 999 }
  expect(records).toEqual([first, ['error', 'the same failure was repeated', summary]])
  failures.report('full', full)
  await clock.advance(60_000)
  expect(records.slice(2)).toEqual([first])
  expect(clock.pending()).toEqual([])
})

it('counts each kind by itself, at its own level', async () => {
  const { clock, records, failures } = setUp()
  for (const message of ['slow', 'slow', 'refused'])
    failures.report(message, record('warn', message))
  await clock.advance(60_000)
  expect(records).toEqual([
    ['warn', 'slow', { detail: 'slow' }],
    ['warn', 'refused', { detail: 'refused' }],
    ['warn', 'the same failure was repeated', { kind: 'slow', times: 1 }],
  ])
})
