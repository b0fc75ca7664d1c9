import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { outcomeOf, refused, revisionFault } from './failure.ts'

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
  [status.CANCELLED, 'Cancelled on client', 'unknown'],
  [status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded', 'refused'],
  [status.INVALID_ARGUMENT, 'etcdserver: request is too large', 'refused'],
  [status.PERMISSION_DENIED, 'etcdserver: permission denied', 'refused'],
])('%i %s: %s', (code, details, outcome) => {
  expect(outcomeOf(failed(code, details))).toBe(outcome)
})

test('a revision that cannot be read is told from other refusals, wrapped or not', () => {
  const compacted = 'etcdserver: mvcc: required revision has been compacted'
  const future = 'etcdserver: mvcc: required revision is a future revision'
  expect(revisionFault(failed(status.OUT_OF_RANGE, compacted))).toBe('compacted')
  expect(revisionFault(refused('Range', failed(status.OUT_OF_RANGE, future)))).toBe('future')
  expect(revisionFault(failed(status.OUT_OF_RANGE, 'too large lease TTL'))).toBeUndefined()
})
