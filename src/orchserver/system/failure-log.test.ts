import { expect, it } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import { FakeClock } from '../../lib/fake-clock.ts'
import { createFailureLog } from './failure-log.ts'

function scene() {
  const clock = new FakeClock()
  const told: unknown[] = []
  const error = (fields: object, text?: string) => told.push([text, fields])
  const log = { error, info: error, warn: error }
  return { clock, told, fail: createFailureLog({ clock, log }) }
}

const FULL = new NodeProxyError('NP_STORAGE_FULL', 'no room')
const STORE = ['the store did not do what the API server asked of it', { err: FULL }]

it('tells the first of many failures that are alike, and each minute how many followed', async () => {
  const { clock, told, fail } = scene()
  for (let count = 0; count < 1000; count++) fail(FULL)
  expect(told).toEqual([STORE])
  await clock.advance(60_000)
  const repeated = ['the same failure was repeated', { failure: 'NP_STORAGE_FULL', times: 999 }]
  expect(told).toEqual([STORE, repeated])
  fail(FULL)
  await clock.advance(60_000)
  expect(told).toEqual([STORE, repeated, STORE])
})

it('tells each kind for itself, and which is a bug', () => {
  const { told, fail } = scene()
  const bugs = [new TypeError('a'), new TypeError('b')]
  for (const error of [FULL, ...bugs]) fail(error)
  const words = 'the API server failed at something that it should not fail at'
  expect(told).toEqual([STORE, ...bugs.map((err) => [words, { err }])])
})
