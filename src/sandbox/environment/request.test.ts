import { expect, test } from 'vitest'
import { readReply } from './request.ts'

test('knows the pods by their words', () => {
  const body = '{"pod":"pod-1","client":"192.0.2.20"}\n'
  expect(
    readReply({ kind: 'answered', ms: 2, status: 200, body, lost: 0, address: '10.96.0.10' }),
  ).toEqual({
    kind: 'answered',
    ms: 2,
    pod: 'pod-1',
    saw: '192.0.2.20',
    lost: 0,
  })
})

test.each([
  [200, '<html>'],
  [200, '[]'],
  [200, '{"pod":7,"client":"x"}'],
  [404, '{"pod":"pod-1","client":"192.0.2.20"}'],
])('HTTP %i with %j is a failure', (status, body) => {
  expect(
    readReply({ kind: 'answered', ms: 2, status, body, lost: 0, address: '10.96.0.10' }),
  ).toEqual({
    kind: 'failed',
    ms: 2,
    code: `HTTP ${status}, not from a pod`,
  })
})

test('refusal and silence stay what they are', () => {
  expect(readReply({ kind: 'refused', ms: 1 })).toEqual({ kind: 'refused', ms: 1 })
  expect(readReply({ kind: 'silent', ms: 1 })).toEqual({ kind: 'silent', ms: 1 })
})
