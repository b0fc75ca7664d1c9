import { expect, test } from 'vitest'
import type { ObjectKey } from '../../mode.ts'
import { restoreLines } from './apply.ts'
import type { Commit } from './plan.ts'

const key = (text: string) => text as ObjectKey
const JUMP = key('4/nat/PREROUTING>-j NPROXY-SERVICES')
const commit: Commit = {
  family: 4,
  table: 'nat',
  set: [key('4/nat/NPROXY-SERVICES'), JUMP],
  unset: [key('4/nat/NPROXY-OLD'), key('4/nat/OUTPUT>-j NPROXY-OLD')],
  stubs: [key('4/nat/NPROXY-STUB')],
}
const contents = {
  rulesOf: () => ['-d 192.0.2.1/32 -j RETURN', '-j RETURN'],
  countOf: (one: ObjectKey) => (one === JUMP ? 2 : 1),
}

test('chains are declared first, then filled; jumps stand once and first; what goes is emptied', () => {
  expect([...restoreLines(commit, contents)].map(({ text }) => text)).toEqual([
    '*nat',
    ':NPROXY-STUB - [0:0]',
    ':NPROXY-SERVICES - [0:0]',
    ':NPROXY-OLD - [0:0]',
    '-A NPROXY-SERVICES -d 192.0.2.1/32 -j RETURN',
    '-A NPROXY-SERVICES -j RETURN',
    '-D PREROUTING -j NPROXY-SERVICES',
    '-D PREROUTING -j NPROXY-SERVICES',
    '-I PREROUTING 1 -j NPROXY-SERVICES',
    '-X NPROXY-OLD',
    '-D OUTPUT -j NPROXY-OLD',
    'COMMIT',
  ])
})

test('every line but the first and the last belongs to an object', () => {
  const lines = [...restoreLines(commit, contents)]
  expect(lines.filter((line) => line.key === undefined).map(({ text }) => text)).toEqual([
    '*nat',
    'COMMIT',
  ])
})
