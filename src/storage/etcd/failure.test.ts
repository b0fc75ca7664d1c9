import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { outcomeOf, refused, revisionFault, unreachable } from './failure.ts'

function failed(code: status, details: string): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() })
}

test.each([
  [status.UNAVAILABLE, 'etcdserver: no leader', 'unsent'],
  [status.RESOURCE_EXHAUSTED, 'etcdserver: too many requests', 'unsent'],
  [status.UNAVAILABLE, 'No connection established. Last error: ECONNREFUSED', 'unsent'],
  [status.UNAVAILABLE, 'etcdserver: request timed out', 'unknown'],
  [status.UNAVAILABLE, 'etcdserver: leader changed', 'unknown'],
  [status.DEADLINE_EXCEEDED, 'Deadline exceeded', 'unknown'],
  [status.RESOURCE_EXHAUSTED, 'Bandwidth exhausted or memory limit exceeded', 'unknown'],
  [status.CANCELLED, 'Cancelled on client', 'unknown'],
  [status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded', 'refused'],
  [status.INVALID_ARGUMENT, 'etcdserver: request is too large', 'refused'],
  [status.PERMISSION_DENIED, 'etcdserver: permission denied', 'refused'],
])('%i %s: %s', (code, details, outcome) => {
  expect(outcomeOf(failed(code, details))).toBe(outcome)
})

test('a revision that cannot be read is distinguished from other errors, wrapped or not', () => {
  const compacted = 'etcdserver: mvcc: required revision has been compacted'
  const future = 'etcdserver: mvcc: required revision is a future revision'
  expect(revisionFault(failed(status.OUT_OF_RANGE, compacted))).toBe('compacted')
  expect(revisionFault(refused('Range', failed(status.OUT_OF_RANGE, future)))).toBe('future')
  expect(revisionFault(failed(status.OUT_OF_RANGE, 'too large lease TTL'))).toBeUndefined()
})

const LOST = 'No connection established. Last error: '
const OPENSSL =
  '4093:error:0A000412:SSL routines:ssl3_read_bytes:ssl/tls alert bad certificate:../rec_layer_s3.c:918:SSL alert number 42\n'

test.each([
  ['connect ECONNREFUSED 127.0.0.1:9', 'Error: connect ECONNREFUSED 127.0.0.1:9', 'leader'],
  ['ssl/tls alert bad certificate', `${OPENSSL} (2026-01-01T00:00:00.000Z)`, '--etcd-certfile'],
  ['certificate has expired', 'Error: certificate has expired', 'renew'],
  ['self-signed certificate', 'Error [X]: self-signed certificate', '--etcd-cafile'],
])('the error for %s has one line and a remedy', (words, details, remedy) => {
  const lost = failed(status.UNAVAILABLE, `${LOST}${details}. Resolution note: `)
  const error = unreachable(['a:1'], lost)
  expect(error.message).toBe(`no etcd answers at a:1: ${words}`)
  expect(error.hint).toContain(remedy)
  expect(error.cause).toMatchObject({ code: 'UNAVAILABLE', message: words })
})

test.each([
  ['etcdserver: mvcc: database space exceeded', 'NP_STORAGE_FULL', '--quota-backend-bytes'],
  ['etcdserver: request is too large', 'NP_STORAGE_ETCD_REFUSED', '--max-request-bytes'],
])('%s is %s and reported with its remedy', (details, code, remedy) => {
  const error = refused('Txn', failed(status.RESOURCE_EXHAUSTED, details))
  expect(error.code).toBe(code)
  expect(error.message).toBe(`etcd refused Txn: ${details}`)
  expect(error.hint).toContain(remedy)
})

test('an etcd that demands a user and a password is not blamed on permissions', () => {
  const details = 'etcdserver: user name is empty'
  const { hint } = refused('Txn', failed(status.INVALID_ARGUMENT, details))
  expect(hint).toContain('no user name and password')
})
