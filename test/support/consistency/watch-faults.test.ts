import { expect, test } from 'vitest'
import { sampleList, sampleLog } from './sample.ts'
import { disagreements, foldFaults, streamFaults } from './watch-faults.ts'

const GOOD = ['ADDED a 1', 'BOOKMARK - 1', 'MODIFIED a 2', 'DELETED a 4', 'ADDED a 5']

test('a watch that says everything once and in order has no fault', () => {
  expect(streamFaults(sampleLog(...GOOD))).toEqual([])
  expect(disagreements([sampleLog(...GOOD), sampleLog(...GOOD)], 5)).toEqual([])
  const lists = [sampleList(5, 'a 5'), sampleList(3, 'a 2'), sampleList(4)]
  expect(foldFaults(sampleLog(...GOOD), lists)).toEqual([])
})

test.each([
  ['ADDED a 1, MODIFIED a 3, MODIFIED a 2', 'w: MODIFIED a at 2 after 3'],
  ['ADDED a 1, MODIFIED a 2, MODIFIED a 2', 'w: MODIFIED a at 2 after 2'],
  ['ADDED a 1, BOOKMARK - 3, MODIFIED a 3', 'w: MODIFIED a at 3 after 3'],
  ['ADDED a 2, BOOKMARK - 1', 'w: BOOKMARK - at 1 after 2'],
  ['MODIFIED a 1', 'w: MODIFIED a at 1: not what was there'],
  ['ADDED a 1, ADDED a 2', 'w: ADDED a at 2: not what was there'],
  ['DELETED a 1', 'w: DELETED a at 1: not what was there'],
  ['ADDED a 1, EXPIRED - 1', 'w: EXPIRED - at 1: it could not resume'],
])('%s: %s', (lines, fault) => {
  expect(streamFaults(sampleLog(...lines.split(', ')))).toEqual([fault])
})

test('watchers that received different changes are found, up to the end', () => {
  const [all, gap] = [sampleLog(...GOOD), sampleLog('ADDED a 1', 'DELETED a 4', 'ADDED a 5')]
  expect(disagreements([all, gap], 5)).toEqual([
    'change 1 is DELETED a at 4 for w, MODIFIED a at 2 for w',
  ])
  const short = sampleLog(...GOOD.slice(0, 4))
  expect(disagreements([all, short], 5)).toEqual(['change 3 is nothing for w, ADDED a at 5 for w'])
  expect(disagreements([all, short], 4)).toEqual([])
})

test('who began later need not have heard what was before', () => {
  const later = { ...sampleLog('DELETED a 4', 'ADDED a 5'), start: sampleList(2, 'a 2') }
  expect(disagreements([sampleLog(...GOOD), later], 5)).toEqual([])
  expect(disagreements([later, sampleLog(...GOOD)], 5)).toEqual([])
})

test('a list that is not what the changes make is found', () => {
  const log = sampleLog(...GOOD)
  expect(foldFaults(log, [sampleList(3, 'a 1')])).toEqual(['w: the list at 3 differs in a'])
  expect(foldFaults(log, [sampleList(5, 'a 5', 'b 3')])).toEqual(['w: the list at 5 differs in b'])
})
