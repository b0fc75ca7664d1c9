import { create } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Event_EventType, type WatchResponse, WatchResponseSchema } from './generated/etcd_pb.ts'
import { KeySpace } from './key-space.ts'
import { WatchAssembly, type WholeRevisions } from './watch-session.ts'

const keys = new KeySpace('/registry')

/** A response with one change of key `/k` at each of these revisions. */
function changes(revisions: readonly number[], fragment = false): WatchResponse {
  return create(WatchResponseSchema, {
    header: { revision: 1000n },
    fragment,
    events: revisions.map((revision) => ({
      type: Event_EventType.PUT,
      kv: { key: keys.encode('/k'), modRevision: BigInt(revision), value: Buffer.from('x') },
    })),
  })
}

function show(whole: WholeRevisions | undefined) {
  return whole && [whole.events.map(({ revision }) => revision), whole.revision]
}

test('a batch is complete up to its last change, not up to where etcd is', () => {
  const assembly = new WatchAssembly(keys, { prefix: '/', after: 4 })
  expect(show(assembly.accept(changes([5, 5, 7])))).toEqual([[5, 5, 7], 7])
})

test('changes up to `after` are dropped', () => {
  const assembly = new WatchAssembly(keys, { prefix: '/', after: 4 })
  expect(assembly.accept(changes([3, 4]))).toBeUndefined()
  expect(show(assembly.accept(changes([4, 5])))).toEqual([[5], 5])
})

test('changes of other keys, and the marker, only advance the revision', () => {
  const assembly = new WatchAssembly(keys, { prefix: '/other/', after: 4 })
  expect(show(assembly.accept(changes([5, 7])))).toEqual([[], 7])
})

test('a revision that is split between fragments waits for its last fragment', () => {
  const assembly = new WatchAssembly(keys, { prefix: '/', after: 4 })
  expect(assembly.accept(changes([5], true))).toBeUndefined()
  expect(assembly.revision).toBe(4)
  expect(show(assembly.accept(changes([5])))).toEqual([[5, 5], 5])
})

test('revisions are whole, in order and unique, however responses are split', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(sizes, fc.array(fc.nat(20)), (counts, cuts) => {
      const all = counts.flatMap((count, index) => Array<number>(count).fill(index + 1))
      const edges = [0, ...cuts.filter((cut) => cut < all.length).toSorted((a, b) => a - b)]
      const pieces = edges.map((edge, index) => all.slice(edge, edges[index + 1]))
      const assembly = new WatchAssembly(keys, { prefix: '/', after: 0 })
      const batches = pieces
        .filter((piece) => piece.length > 0)
        .map((piece, index, list) => assembly.accept(changes(piece, index < list.length - 1)))
        .filter((batch) => batch !== undefined)
      expect(batches.flatMap((batch) => batch.events.map(({ revision }) => revision))).toEqual(all)
      for (const { events, revision } of batches) expect(events.at(-1)?.revision).toBe(revision)
      const firsts = batches.map(({ events }) => events[0]!.revision)
      expect(new Set(firsts).size).toBe(firsts.length)
    }),
  )
})
