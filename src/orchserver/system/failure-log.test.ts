import { expect, it } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { apiServerFailure, createFailureLog } from './failure-log.ts'

function scene() {
  const clock = new FakeClock()
  const logged: unknown[] = []
  const error = (fields: object, text?: string) => logged.push([text, fields])
  const log = { error, info: error, warn: error }
  return { clock, logged, fail: createFailureLog({ clock, log }, apiServerFailure) }
}

const FULL = new NodeProxyError('NP_STORAGE_FULL', 'disk full')
const STORE = ['a request of the API server to the store failed', { err: FULL }]

it('logs the first of many equal failures, and each minute how many followed', async () => {
  const { clock, logged, fail } = scene()
  for (let count = 0; count < 1000; count++) fail(FULL)
  expect(logged).toEqual([STORE])
  await clock.advance(60_000)
  const repeated = ['the same failure was repeated', { failure: 'NP_STORAGE_FULL', times: 999 }]
  expect(logged).toEqual([STORE, repeated])
  fail(FULL)
  await clock.advance(60_000)
  expect(logged).toEqual([STORE, repeated, STORE])
})

it('logs each kind by itself, and which is a bug', () => {
  const { logged, fail } = scene()
  const bugs = [new TypeError('a'), new TypeError('b')]
  for (const error of [FULL, ...bugs]) fail(error)
  const words = 'the API server failed because of a bug'
  expect(logged).toEqual([STORE, ...bugs.map((err) => [words, { err }])])
})

it('kinds of bugs are lines of the code, so errors that quote objects are one kind', () => {
  const { logged, fail } = scene()
  for (let serial = 0; serial < 1000; serial++) {
    fail(new TypeError(`object ${serial}\n    at object ${serial}`))
    fail(`object ${serial}`)
  }
  expect(logged).toHaveLength(2)
})

it('a failure of the system without a line of the code is known by its code', () => {
  const { logged, fail } = scene()
  const failed = (code: string, path: string) => {
    const error = Object.assign(new Error(`${code} ${path}`), { code })
    error.stack = String(error)
    return error
  }
  for (const path of ['/a', '/b']) for (const code of ['EACCES', 'EMFILE']) fail(failed(code, path))
  expect(logged).toHaveLength(2)
})
