import { expect, test } from 'vitest'
import { statusFailure } from '../../client/http/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { podObject, podPlan } from '../testing/pod-story.ts'
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
  const [other, ready] = [known.conditions[1]!, { ...READY, status: 'False', reason: 'Other' }]
  expect(differences(known, { conditions: [other, ready] })).toEqual({
    conditions: [
      { ...other, reason: null, message: null },
      { ...ready, message: null },
    ],
  })
})

test('a condition without a reason loses the one that it had', () => {
  const known = { conditions: [{ ...READY, reason: 'Lost', message: 'not heard' }] }
  expect(differences(known, { conditions: [READY] })).toEqual({
    conditions: [{ ...READY, reason: null, message: null }],
  })
})

function stage(answers: readonly ('ok' | number)[]) {
  const clock = new FakeClock()
  const gone = new AbortController()
  const sent: JsonObject[] = []
  const refused: number[] = []
  const changes: JsonObject[] = []
  let version = 7
  const writer: StatusWriter = new StatusWriter(
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
      onMissedChange: () => changes.push(writer.known),
    },
    gone.signal,
  )
  return { clock, gone, sent, refused, changes, writer }
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

test('changes from before its own write are none', async () => {
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

test.each(['ok', 503] as const)(
  'changes during a write that ends with %s count',
  async (answer) => {
    const { writer, clock, changes } = stage([answer])
    writer.write({ phase: 'Running' })
    for (const version of ['9', '10']) {
      const status = { phase: 'Running', message: version }
      writer.seen({ ...podObject({}, { resourceVersion: version }), status })
    }
    expect(changes).toEqual([])
    await clock.advance(0)
    expect(changes).toEqual([{ phase: 'Running', message: '10' }])
  },
)

test('a status that is wanted in the very moment in which a write ends is written', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const { writer, sent } = stage([])
    writer.write({ phase: 'Running' })
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    writer.write({ phase: 'Failed' })
    await writer.settled()
    expect(sent.at(-1)).toMatchObject({ status: { phase: 'Failed' } })
  }
})

test('a refusal is reported once, and the write repeated', async () => {
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
