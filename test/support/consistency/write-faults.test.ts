import { expect, test } from 'vitest'
import { sampleCreate, sampleDeletion, sampleLine, sampleList, sampleUnanswered } from './sample.ts'
import { orderFaults, unmatchedWrites } from './write-faults.ts'

const lines = (...texts: readonly string[]) => texts.map((text) => sampleLine(text))

test('what was acknowledged is in the changes once, and the other way round', () => {
  const operations = [
    sampleCreate('a', 1, 0, 1),
    sampleDeletion('a'),
    sampleUnanswered('a', { verb: 'create', written: 'w3' }),
    sampleUnanswered('a', { verb: 'delete' }),
  ]
  const changes = lines('ADDED a 1', 'DELETED a 2', 'ADDED a 3')
  expect(unmatchedWrites(operations, changes)).toEqual([])
  expect(unmatchedWrites(operations, [...changes, ...lines('DELETED a 4')])).toEqual([])
})

test.each([
  ['', ['create a at 1 was acknowledged and is lost']],
  [
    'ADDED a 2',
    ['create a at 1 was acknowledged and is lost', 'ADDED a at 2: no client requested it'],
  ],
  ['ADDED b 1', ['create a at 1 was acknowledged and is lost']],
  ['ADDED a 1, DELETED a 2', ['a was deleted 1 times; 0 were acknowledged, 0 not answered']],
])('changes %j', (changes, faults) => {
  const shown = lines(...changes.split(', ').filter(Boolean))
  expect(unmatchedWrites([sampleCreate('a', 1, 0, 1)], shown)).toEqual(faults)
})

test('an acknowledged deletion that no watcher saw is found', () => {
  expect(unmatchedWrites([sampleDeletion('a')], [])).toEqual([
    'a was deleted 0 times; 1 were acknowledged, 0 not answered',
  ])
})

test('versions follow the order of time, of writes and of lists', () => {
  const [first, second] = [sampleCreate('a', 1, 0, 3), sampleCreate('b', 2, 2, 5)]
  expect(orderFaults([second, first], [])).toEqual([])
  const late = sampleCreate('c', 1, 6, 7)
  expect(orderFaults([second, late], [])).toEqual([
    'create b at 2 was over before create c at 1 began',
  ])
  const stale = { ...sampleList(1), called: 6, answered: 7 }
  expect(orderFaults([second], [stale])).toEqual([
    'create b at 2 was over before a list at 1.5 began',
  ])
  expect(orderFaults([second], [{ ...stale, version: 2 }])).toEqual([])
})
