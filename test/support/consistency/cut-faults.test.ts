import { expect, test } from 'vitest'
import { cutFaults } from './cut-faults.ts'
import { sampleCreate, sampleList, sampleLog } from './sample.ts'

const log = sampleLog('ADDED a 1', 'ADDED b 2', 'ADDED c 3', 'DELETED a 4', 'ADDED d 5')

/** c was requested while the backup ran, d after it. */
const run = {
  seed: 0,
  lists: [],
  end: 5,
  outages: [],
  watches: [log],
  operations: [sampleCreate('c', 3, 5, 30), sampleCreate('d', 5, 20, 21)],
}
const time = { before: sampleList(2, 'a 1', 'b 2'), ended: 10 }

test.each([[['a 1', 'b 2']], [['a 1', 'b 2', 'c 3']], [['b 2', 'c 3']]])(
  '%j is a moment',
  (state) => {
    expect(cutFaults(run, time, sampleList(100, ...state))).toEqual([])
  },
)

test.each([
  ['misses what was acknowledged', ['a 1']],
  ['holds what began later', ['b 2', 'c 3', 'd 5']],
  ['never was', ['a 1', 'c 3']],
])('what was restored %s', (_name, state) => {
  expect(cutFaults(run, time, sampleList(100, ...state))).toEqual([
    'no state from 2 to before 5 is the one that was restored',
  ])
})
