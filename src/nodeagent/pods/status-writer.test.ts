import { expect, test } from 'vitest'
import { statusFailure } from '../../client/failure.ts'
import { FakeClock } from '../../lib/fake-clock.ts'
import type { JsonObject } from '../../lib/json.ts'
import { podObject, podPlan } from '../fixtures.ts'
import { differences, StatusWriter } from './status-writer.ts'

const READY = { type: 'Ready', status: 'True' }

test('only what differs, and addresses in place of the old ones', () => {
  const known = {
    phase: 'Running',
    podIPs: [{ ip: '10.0.0.1' }],
    conditions: [
      { ...READY, lastProbeTime: null },
      { type: 'Other', status: 'True' },
    ],
  }
  expect(differences(known, { phase: 'Running', conditions: [READY] })).toBeUndefined()
  expect(differences(known, { phase: 'Running', podIPs: [{ ip: '10.0.0.2' }] })).toEqual({
    podIPs: [{ ip: '10.0.0.2' }, { $patch: 'replace' }],
  })
  const conditions = [{ ...READY, status: 'False' }]
  expect(differences(known, { conditions })).toEqual({ conditions })
})

function stage(answers: readonly ('ok' | number)[]) {
  const clock = new FakeClock()
  const gone = new AbortController()
  const sent: JsonObject[] = []
  const refused: number[] = []
  let version = 7
  const writer = new StatusWriter(
    {
      client: {
        patch: (_path, body) => {
          sent.push(body as JsonObject)
          const answer = answers[sent.length - 1] ?? 'ok'
          if (answer !== 'ok') {
            return Promise.resolve({ ok: false, failure: statusFailure(answer, {}) } as const)
          }
          const metadata = { resourceVersion: String(++version) }
          return Promise.resolve({ ok: true, value: { metadata, status: {} } } as const)
        },
      },
      clock,
      pod: podPlan(),
      object: { ...podObject({}, { resourceVersion: '7' }), status: { phase: 'Pending' } },
      onRefused: ({ code }) => refused.push(code),
    },
    gone.signal,
  )
  return { clock, gone, sent, refused, writer }
}

test('writes the latest status once, for this very Pod', async () => {
  const { writer, sent } = stage([])
  writer.write({ phase: 'Pending' })
  expect(sent).toEqual([])
  writer.write({ phase: 'Running' })
  writer.write({ phase: 'Failed' })
  writer.write({ phase: 'Succeeded' })
  await writer.settled()
  expect(sent.map(({ status }) => status)).toEqual([{ phase: 'Running' }, { phase: 'Succeeded' }])
  expect(sent[0]).toMatchObject({ metadata: { uid: 'u1' } })
  writer.write({ phase: 'Succeeded' })
  expect(sent).toHaveLength(2)
})

test('news from before its own write are none', async () => {
  const { writer, sent } = stage([])
  writer.write({ phase: 'Running' })
  await writer.settled()
  writer.seen({ ...podObject({}, { resourceVersion: '7' }), status: { phase: 'Pending' } })
  writer.write({ phase: 'Running' })
  expect(sent).toHaveLength(1)
  writer.seen({ ...podObject({}, { resourceVersion: '9' }), status: { phase: 'Failed' } })
  writer.write({ phase: 'Running' })
  await writer.settled()
  expect(sent).toHaveLength(2)
})

test('a refusal is told once, and the write repeated', async () => {
  const { writer, sent, refused, clock } = stage([503, 503, 'ok'])
  writer.write({ phase: 'Running' })
  await clock.advance(200)
  await clock.advance(1_000)
  await writer.settled()
  expect([sent.length, refused]).toEqual([3, [503]])
})

test.each([404, 409])('a Pod that is gone (%i) has no status', async (code) => {
  const { writer, sent, refused } = stage([code])
  writer.write({ phase: 'Running' })
  await writer.settled()
  expect([sent.length, refused]).toEqual([1, []])
})

test('is over when the Pod is', async () => {
  const { writer, gone, sent } = stage([503, 503, 503])
  writer.write({ phase: 'Running' })
  await Promise.resolve()
  gone.abort()
  await writer.settled()
  expect(sent).toHaveLength(1)
})
