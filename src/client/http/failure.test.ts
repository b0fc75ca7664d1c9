import { expect, test } from 'vitest'
import { printable } from '../../lib/quote.ts'
import { failureError, statusFailure } from './failure.ts'

test('statusFailure reads code, reason and message of a Status', () => {
  const details = { retryAfterSeconds: 2 }
  const status = { kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'slow', details }
  expect(statusFailure(429, status)).toEqual({
    code: 429,
    reason: 'TooManyRequests',
    message: 'slow',
    errorCode: 'NP_CLIENT_REFUSED',
    retryAfterMs: 2000,
  })
})

test('a body that is no Status is described by the HTTP status', () => {
  const failure = statusFailure(502, undefined)
  expect(failure).toMatchObject({ code: 502, reason: 'HTTP 502' })
  expect(failure.message).toContain('502')
})

test('a message becomes one printable line of at most 512 characters', () => {
  const evil = `x\n{"level":30}\u001b[2J\u2028${'y'.repeat(5000)}`
  const { message } = statusFailure(403, { kind: 'Status', message: evil, reason: 'a\nb' })
  for (const character of ['\n', '\u001b', '\u2028']) expect(message).not.toContain(character)
  expect(message.length).toBe(512)
  expect(statusFailure(403, { kind: 'Status', reason: 'a\nb' }).reason).toBe('a b')
  expect(printable('  ok ')).toBe('ok')
})

test('failureError has the code of the failure', () => {
  const error = failureError(statusFailure(404, undefined), '/things')
  expect(error).toMatchObject({ code: 'NP_CLIENT_REFUSED', object: '/things' })
})
