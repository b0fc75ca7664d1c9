import { expect, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../../client/http/failure/failure.ts'
import { eventually } from '../../../client/testing/eventually.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { eventSender } from './event-sender.ts'

const FORBIDDEN = { kind: 'Status', reason: 'Forbidden' }
const OK: ApiResult<unknown> = { ok: true, value: {} }

test.each<[string, ApiResult<unknown>, readonly string[]]>([
  ['written', OK, ['events succeeded']],
  [
    'refused',
    { ok: false, failure: statusFailure(403, { ...FORBIDDEN, message: 'no permission' }) },
    ['create events: no permission'],
  ],
  [
    'too late for its namespace',
    {
      ok: false,
      failure: statusFailure(403, { ...FORBIDDEN, message: 'because it is being terminated' }),
    },
    [],
  ],
])('the outcome of an Event is reported: %s', async (_, answer, expected) => {
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
