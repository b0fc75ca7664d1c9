import { expect, test } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import { SERVICES, service, startApi } from '../testing/test-api.ts'

const SECRET = '/var/lib/orch-server/store.sqlite'

const cases: readonly (readonly [
  code: string,
  words: string,
  status: number,
  reason: string,
  retry: string | undefined,
  text: string,
])[] = [
  ['NP_STORAGE_FULL', '', 503, 'ServiceUnavailable', undefined, 'the store is full: nothing was'],
  ['NP_STORAGE_READ_ONLY', '', 503, 'ServiceUnavailable', undefined, 'the store is read-only:'],
  ['NP_STORAGE_LOCKED', '', 503, 'ServiceUnavailable', '1', 'the store is locked by another'],
  ['NP_STORAGE_ETCD_UNREACHABLE', '', 503, 'ServiceUnavailable', '1', 'etcd cannot be reached'],
  ['NP_STORAGE_UNKNOWN_OUTCOME', '', 504, 'Timeout', undefined, 'etcd did not answer in time'],
  ['NP_STORAGE_ETCD_REFUSED', 'no', 500, 'InternalError', undefined, 'etcd refused the request'],
  ['NP_STORAGE_IO', '', 500, 'InternalError', undefined, 'the disk of the store failed'],
  ['NP_STORAGE_DUPLICATE_KEY', '', 500, 'InternalError', undefined, 'failed to serve the request'],
]

test.each(cases)('%s %s: %i %s', async (code, words, status, reason, retry, text) => {
  const errors: unknown[] = []
  const failure = new NodeProxyError(code, `${SECRET}: ${words}`)
  let isFailing = false
  const api = await startApi({
    onError: (error) => errors.push(error),
    wrap: (store) => ({
      ...store,
      txn: (transaction) => (isFailing ? Promise.reject(failure) : store.txn(transaction)),
    }),
  })
  isFailing = true
  const answer = await api.call('POST', SERVICES, { body: service('web') })
  expect([answer.status, answer.body['reason']]).toEqual([status, reason])
  expect(answer.headers['retry-after']).toBe(retry)
  expect(answer.body['message']).toContain(text)
  expect(answer.text).not.toContain(SECRET)
  expect(errors).toEqual([failure])
})
