import { expect, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { podPlan } from '../testing/pod-story.ts'
import { EventRecorder, type EventText, textOfEvent } from './event-recorder.ts'

function stage(patched: ApiResult<unknown> = { ok: true, value: {} }) {
  const sent: (readonly [string, JsonObject])[] = []
  const answer = (path: string, body: unknown) => {
    sent.push([path, body as JsonObject])
    return Promise.resolve({ ok: true, value: { metadata: { name: 'web.1' } } } as const)
  }
  const patch = (path: string, body: unknown) => {
    sent.push([path, body as JsonObject])
    return Promise.resolve(patched)
  }
  const client = { create: answer, patch }
  const clock = new FakeClock()
  const failed: unknown[] = []
  const reporter = { failed: (...one: unknown[]) => void failed.push(one), succeeded() {} }
  const recorder = new EventRecorder({ client, clock, pod: podPlan(), reporter })
  return { sent, failed, recorder, clock }
}

const UNHEALTHY: EventText = { type: 'Warning', reason: 'Unhealthy', message: 'no answer\u001b[2J' }

test('what repeats is counted, and written ever more rarely', async () => {
  const { sent, recorder } = stage()
  for (let time = 0; time < 100; time++) {
    recorder.record(UNHEALTHY)
    await recorder.settled()
  }
  expect(sent[0]).toMatchObject([
    '/api/v1/namespaces/default/events',
    {
      reason: 'Unhealthy',
      message: 'no answer [2J',
      involvedObject: { kind: 'Pod', name: 'web', uid: 'u1' },
    },
  ])
  const [path] = sent[1] ?? []
  expect(path).toBe('/api/v1/namespaces/default/events/web.1')
  expect(sent.map(([, { count }]) => count)).toEqual([1, 2, 4, 8, 16, 32, 64])
})

test('an Event that the server has forgotten meanwhile is made again', async () => {
  const { sent, recorder } = stage({ ok: false, failure: statusFailure(404, {}) })
  for (let time = 0; time < 2; time++) {
    recorder.record(UNHEALTHY)
    await recorder.settled()
  }
  const events = '/api/v1/namespaces/default/events'
  expect(sent.map(([path, { count }]) => [path, count])).toEqual([
    [events, 1],
    [`${events}/web.1`, 2],
    [events, 2],
  ])
})

test('an Event that repeats is renewed before the server expires it', async () => {
  const { sent, recorder, clock } = stage()
  for (let time = 0; time < 12; time++) {
    recorder.record(UNHEALTHY)
    await recorder.settled()
    await clock.advance(600_000)
  }
  expect(sent.map(([, { count }]) => count)).toEqual([1, 2, 4, 7, 8, 11])
})

test('one Pod has a bounded number of Events', async () => {
  const { sent, recorder } = stage()
  for (let serial = 0; serial < 100; serial++) {
    recorder.record({ ...UNHEALTHY, message: `failed ${serial}` })
  }
  await recorder.settled()
  expect(sent).toHaveLength(25)
})

test('an Event that is refused is reported, but not by a namespace that is being emptied', async () => {
  for (const [message, reports] of [
    ['no permission', 1],
    ['unable to create: because it is being terminated', 0],
  ] as const) {
    const refusal = { kind: 'Status', reason: 'Forbidden', message }
    const { recorder, failed } = stage({ ok: false, failure: statusFailure(403, refusal) })
    recorder.record(UNHEALTHY)
    recorder.record(UNHEALTHY)
    await recorder.settled()
    expect(failed).toHaveLength(reports)
  }
})

test.each([
  ['is started again', 'Always', undefined, 0, 15, 'BackOff: container main ended with signal 15'],
  [
    'is not started again',
    'Never',
    undefined,
    3,
    0,
    'Failed: container main ended with exit code 3',
  ],
  ['did what it should', 'Always', undefined, 0, 0, undefined],
  ['was stopped with its Pod', 'Always', { deadline: 0 }, 0, 15, undefined],
] as const)('a container that %s', (_, restartPolicy, stop, exitCode, signal, expected) => {
  const event = { is: 'ended', container: 'main', run: 0, exitCode, signal } as const
  const text = textOfEvent(event, { restartPolicy }, { stop })
  expect(text && `${text.reason}: ${text.message}`).toBe(expected)
})

test.each([
  ['cannot be made', undefined, 'FailedMount: secret "db" not found'],
  ['are not made any more, because the Pod is being stopped', { deadline: 0 }, undefined],
])('volumes that %s', (_, stop, expected) => {
  const event = { is: 'unmounted', message: 'secret "db" not found' } as const
  const text = textOfEvent(event, { restartPolicy: 'Always' }, { stop })
  expect(text && `${text.reason}: ${text.message}`).toBe(expected)
})
