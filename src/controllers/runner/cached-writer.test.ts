import { expect, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { readMeta } from '../objects/object-meta.ts'
import { createCachedWriter } from './runner.ts'

const meta = readMeta({ metadata: { name: 'x', namespace: 'shop', uid: 'u' } })
const MARK = { uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' }

const answers: readonly (readonly [string, JsonObject, boolean])[] = [
  ['Success', { kind: 'Status', details: { uid: 'u' } }, false],
  ['the last state of a Service', { kind: 'Service', metadata: { uid: 'u' } }, false],
  ['the last state of a pod', { kind: 'Pod', metadata: { ...MARK } }, false],
  [
    'a pod without grace',
    { kind: 'Pod', metadata: { ...MARK, deletionGracePeriodSeconds: 0 } },
    false,
  ],
  ['a pod that ends', { kind: 'Pod', metadata: { ...MARK, deletionGracePeriodSeconds: 30 } }, true],
  ['a pod that is held', { kind: 'Pod', metadata: { ...MARK, finalizers: ['x'] } }, true],
  ['a namespace that is emptied', { kind: 'Namespace', metadata: { ...MARK } }, true],
]

test.each(answers)('a deletion answered by %s', async (_, value, isKept) => {
  const records: string[] = []
  const result = { ok: true, value } as const
  const writer = { write: async () => result, read: async () => result }
  const cache = {
    learned: () => void records.push('learned'),
    cache: { removed: () => void records.push('removed') },
  }
  const write = createCachedWriter(writer, () => cache, {
    clock: new FakeClock(),
    isOpen: () => true,
  })
  expect(await write({ verb: 'delete', collection: 'pods', meta })).toBe(result)
  expect(records).toEqual([isKept ? 'learned' : 'removed'])
})

/** Binds a Pod; of the reads after the binding, all fail with this code. */
function bindWithoutAnswer(code: number) {
  const clock = new FakeClock()
  const state = { isOpen: true, found: undefined as unknown, log: [] as string[], isDone: false }
  const failure = statusFailure(code, {})
  const writer = {
    write: async (): Promise<ApiResult<unknown>> => ({ ok: true, value: undefined }),
    read: async (): Promise<ApiResult<unknown>> => {
      state.log.push('read')
      return state.found === undefined ? { ok: false, failure } : { ok: true, value: state.found }
    },
  }
  const cache = {
    learned: (raw: unknown) => void (raw === undefined || state.log.push('learned')),
    cache: { removed: () => void state.log.push('removed') },
  }
  const write = createCachedWriter(writer, () => cache, { clock, isOpen: () => state.isOpen })
  const done = write({ verb: 'bind', collection: 'pods', meta, nodeName: 'a' }).then((answer) => {
    state.isDone = true
    return answer
  })
  return { clock, state, done }
}

test('a Pod that was bound is read until the server answers, and the binding ends then', async () => {
  const { clock, state, done } = bindWithoutAnswer(500)
  for (const delay of [5, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]) {
    await clock.advance(0)
    expect(clock.pending()).toEqual([delay])
    await clock.advance(delay)
  }
  expect(state).toMatchObject({ isDone: false, log: Array.from({ length: 10 }, () => 'read') })
  state.found = { kind: 'Pod' }
  await clock.advance(1_000)
  expect(await done).toEqual({ ok: true, value: undefined })
  expect(state.log.slice(10)).toEqual(['read', 'learned'])
})

test('a Pod that was bound and may not be read is left to the watch', async () => {
  const { clock, state, done } = bindWithoutAnswer(403)
  await clock.advance(0)
  await clock.advance(5)
  await done
  expect(state.log).toEqual(['read'])
})

test('a Pod that was bound and deleted is removed', async () => {
  const { clock, state, done } = bindWithoutAnswer(404)
  await clock.advance(0)
  await clock.advance(5)
  await done
  expect(state.log).toEqual(['read', 'removed'])
})

test('a replica that does not lead any more reads no Pod that it bound', async () => {
  const { clock, state, done } = bindWithoutAnswer(500)
  state.isOpen = false
  await clock.advance(0)
  await clock.advance(5)
  await done
  expect(state.log).toEqual([])
})
