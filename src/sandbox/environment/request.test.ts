import { expect, test } from 'vitest'
import { readApiReply, readReply } from './request.ts'

test('knows the pods by their words', () => {
  const body = '{"pod":"pod-1","client":"192.0.2.20"}\n'
  expect(
    readReply({
      kind: 'answered',
      ms: 2,
      status: 200,
      body,
      lost: 0,
      metTimeWait: 0,
      address: '10.96.0.10',
    }),
  ).toEqual({
    kind: 'answered',
    ms: 2,
    pod: 'pod-1',
    saw: '192.0.2.20',
    lost: 0,
    metTimeWait: 0,
    address: '10.96.0.10',
  })
})

test.each([
  [200, '<html>'],
  [200, '[]'],
  [200, '{"pod":7,"client":"x"}'],
  [404, '{"pod":"pod-1","client":"192.0.2.20"}'],
])('HTTP %i with %j is a failure', (status, body) => {
  expect(
    readReply({
      kind: 'answered',
      ms: 2,
      status,
      body,
      lost: 0,
      metTimeWait: 0,
      address: '10.96.0.10',
    }),
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

test('the API server is known by the kind of its object, or by its refusal', () => {
  const answer = { kind: 'answered', ms: 2, lost: 0, metTimeWait: 0, address: '10.96.0.2' } as const
  const body = '{"kind":"ServiceList","items":[]}'
  const list = { kind: 'api', ms: 2, status: 200, text: 'ServiceList' }
  expect(readApiReply({ ...answer, status: 200, body })).toEqual(list)
  const status = '{"kind":"Status","message":"secrets is forbidden"}'
  const refusal = { kind: 'api', ms: 2, status: 403, text: 'secrets is forbidden' }
  expect(readApiReply({ ...answer, status: 403, body: status })).toEqual(refusal)
  expect(readApiReply({ kind: 'refused', ms: 1 })).toEqual({ kind: 'refused', ms: 1 })
})
