import { expect, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../../client/http/failure.ts'
import { eventually } from '../../../client/testing/eventually.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { eventSender } from './event-sender.ts'

const FORBIDDEN = { kind: 'Status', reason: 'Forbidden' }
const OK: ApiResult<unknown> = { ok: true, value: {} }

test.each<[string, ApiResult<unknown>, readonly string[]]>([
  ['that the server stores is reported as a success', OK, ['events succeeded']],
  [
    'that the server refuses is reported as a failure',
    { ok: false, failure: statusFailure(403, { ...FORBIDDEN, message: 'no permission' }) },
    ['create events: no permission'],
  ],
  [
    'refused because its namespace is being deleted is not reported',
    {
      ok: false,
      failure: statusFailure(403, { ...FORBIDDEN, message: 'because it is being terminated' }),
    },
    [],
  ],
])('an Event %s', async (_, answer, expected) => {
  const outcomes: string[] = []
  let isDone = false
  const events = eventSender({
    client: { create: () => Promise.resolve(answer) },
    clock: new FakeClock(),
    nodeName: 'node-1',
    metrics: { events: { inc: () => (isDone = true) } as never },
    apiFailures: {
      failed: ({ verb, resource }, { message }) =>
        void outcomes.push(`${verb} ${resource}: ${message}`),
      succeeded: (resource) => void outcomes.push(`${resource} succeeded`),
    },
  })
  const regarding = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web', uid: 'u1' }
  events.warn({ regarding, reason: 'Conflict', message: 'taken' })
  await eventually(() => isDone)
  expect(outcomes).toEqual(expected)
})
