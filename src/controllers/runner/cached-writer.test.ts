import { expect, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
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
  const write = createCachedWriter(
    writer,
    () => cache,
    () => () => undefined,
  )
  expect(await write({ verb: 'delete', collection: 'pods', meta })).toBe(result)
  expect(records).toEqual([isKept ? 'learned' : 'removed'])
})

test.each([
  [{ ok: true, value: { kind: 'Status' } }, ['assumed', 'written']],
  [{ ok: false, failure: statusFailure(500, {}) }, ['assumed', 'written', 'undone']],
  [{ ok: false, failure: statusFailure(404, {}) }, ['assumed', 'written', 'undone', 'removed']],
  [{ ok: false, failure: statusFailure(409, {}) }, ['assumed', 'written', 'undone', 'learned']],
] as const)(
  'a binding counts until it is refused: %j',
  async (result: ApiResult<unknown>, steps) => {
    const log: string[] = []
    const writer = {
      write: async () => {
        log.push('written')
        return result
      },
      read: async () => ({ ok: true, value: { kind: 'Pod' } }) as const,
    }
    const cache = {
      learned: () => void log.push('learned'),
      cache: { removed: () => void log.push('removed') },
    }
    const write = createCachedWriter(
      writer,
      () => cache,
      () => {
        log.push('assumed')
        return () => void log.push('undone')
      },
    )
    expect(await write({ verb: 'bind', collection: 'pods', meta, nodeName: 'a' })).toBe(result)
    expect(log).toEqual(steps)
  },
)
