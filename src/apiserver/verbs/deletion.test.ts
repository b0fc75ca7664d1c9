import { expect, test } from 'vitest'
import { type JsonObject, objectAt, scalarText, valueAt } from '../../lib/json.ts'
import { events } from '../kinds/event.ts'
import { pods } from '../kinds/pod/resource.ts'
import { services } from '../kinds/service/resource.ts'
import { type DeletionChange, isOver, markedForDeletion } from './deletion.ts'

const NOW = Date.parse('2026-01-01T00:01:00Z')
const LEAVING = {
  deletionTimestamp: '2026-01-01T00:01:00Z',
  deletionGracePeriodSeconds: 30,
} as const

function wish(given: Partial<DeletionChange> = {}): DeletionChange {
  return { graceSeconds: undefined, propagation: undefined, ...given }
}

function pod(spec: JsonObject, metadata: JsonObject = {}, phase = 'Running'): JsonObject {
  return { metadata: { name: 'p', ...metadata }, spec, status: { phase } }
}

const BOUND = { nodeName: 'node-a' }

/** `end of the grace, its seconds`; or that the pod is gone. */
function marked(object: JsonObject, given?: Partial<DeletionChange>): string {
  const next = markedForDeletion(pods, object, wish(given), NOW)
  if (isOver(pods, next)) return 'gone'
  const metadata = objectAt(next, 'metadata')
  const [end, grace] = [metadata['deletionTimestamp'], metadata['deletionGracePeriodSeconds']]
  return `${scalarText(end).slice(14, 19)}, ${scalarText(grace)}`
}

const first: readonly (readonly [string, JsonObject, number | undefined, string])[] = [
  ['runs', pod(BOUND), undefined, '01:30, 30'],
  [
    'says how long it takes',
    pod({ ...BOUND, terminationGracePeriodSeconds: 5 }),
    undefined,
    '01:05, 5',
  ],
  ['must hurry', pod({ ...BOUND, terminationGracePeriodSeconds: 5 }), 1, '01:01, 1'],
  ['has time', pod(BOUND), 90, '02:30, 90'],
  ['must go', pod(BOUND), 0, 'gone'],
  ['wants no time', pod({ ...BOUND, terminationGracePeriodSeconds: 0 }), undefined, 'gone'],
  ['is in a hurry', pod({ ...BOUND, terminationGracePeriodSeconds: -5 }), undefined, '01:01, 1'],
  ['runs nowhere', pod({}), 90, 'gone'],
  ['succeeded', pod(BOUND, {}, 'Succeeded'), 90, 'gone'],
  ['failed', pod(BOUND, {}, 'Failed'), undefined, 'gone'],
  ['is held', pod(BOUND, { finalizers: ['x'] }), undefined, '01:30, 30'],
  ['is held and must go', pod(BOUND, { finalizers: ['x'] }), 0, '01:00, 0'],
]

test.each(first)('a pod that %s', (_, object, graceSeconds, wanted) => {
  expect(marked(object, { graceSeconds })).toBe(wanted)
})

const again: readonly (readonly [number | undefined, JsonObject, string])[] = [
  [undefined, {}, '01:00, 30'],
  [60, {}, '01:00, 30'],
  [30, {}, '01:00, 30'],
  [10, {}, '00:40, 10'],
  [-1, {}, '00:31, 1'],
  [0, {}, 'gone'],
  [0, { finalizers: ['x'] }, '00:30, 0'],
]

test.each(again)(
  'a Pod that ends within 30 s, with another grace of %s',
  (graceSeconds, metadata, wanted) => {
    expect(marked(pod(BOUND, { ...LEAVING, ...metadata }), { graceSeconds })).toBe(wanted)
  },
)

test('a pod that is leaving keeps its finalizers, whatever the policy says later', () => {
  const leaving = pod(BOUND, { ...LEAVING, finalizers: ['orphan'] })
  expect(markedForDeletion(pods, leaving, wish({ propagation: 'Foreground' }), NOW)).toBe(leaving)
})

const policies: readonly (readonly [DeletionChange['propagation'], string[], string[]])[] = [
  [undefined, [], []],
  [undefined, ['orphan'], ['orphan']],
  ['Background', ['orphan'], []],
  ['Background', ['x', 'foregroundDeletion'], ['x']],
  ['Foreground', ['x', 'orphan'], ['x', 'foregroundDeletion']],
  ['Orphan', ['foregroundDeletion'], ['orphan']],
]

test.each(policies)('%s with the finalizers %j', (propagation, finalizers, wanted) => {
  const object = { metadata: { name: 's', finalizers } }
  const next = markedForDeletion(services, object, wish({ propagation, graceSeconds: 9 }), NOW)
  expect(isOver(services, next)).toBe(wanted.length === 0)
  expect(valueAt(next, 'metadata', 'finalizers') ?? []).toEqual(wanted)
  expect(next['metadata']).toMatchObject({
    deletionTimestamp: '2026-01-01T00:01:00Z',
    deletionGracePeriodSeconds: 0,
  })
})

test('an Event has no grace', () => {
  const next = markedForDeletion(events, { metadata: {} }, wish({ propagation: 'Orphan' }), NOW)
  expect(isOver(events, next)).toBe(true)
})

test('a first deletion is a change of what is wanted, a second is not', () => {
  const counted = { ...services, countsGenerations: true as const }
  const object = { metadata: { generation: 4, finalizers: ['x'] } }
  const once = markedForDeletion(counted, object, wish(), NOW)
  const twice = markedForDeletion(counted, once, wish(), NOW + 9000)
  expect(valueAt(once, 'metadata', 'generation')).toBe(5)
  expect(twice).toEqual(once)
})

test('a grace beyond a century ends then: it has a date in any case', () => {
  for (const graceSeconds of [2 ** 53 - 1, undefined]) {
    const given = pod({ ...BOUND, terminationGracePeriodSeconds: 2 ** 53 - 1 })
    expect(marked(given, { graceSeconds })).toBe(`01:00, ${100 * 365 * 86_400}`)
  }
})
