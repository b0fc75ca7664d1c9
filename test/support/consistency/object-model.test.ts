import { expect, test } from 'vitest'
import { linearize } from './linearize.ts'
import { type ObjectInput, type ObjectOutput, objectModel } from './object-model.ts'

const [create, update, patch, remove, read] = [
  { verb: 'create', written: 'a' },
  { verb: 'update', version: 1, written: 'b', patched: '' },
  { verb: 'patch', patched: 'p' },
  { verb: 'delete' },
  { verb: 'read' },
] as const
const absent = { result: 'absent' } as const
const deleted = { result: 'deleted' } as const
const exists = { result: 'exists' } as const
const conflict = { result: 'conflict' } as const

function is(written: string, version: number, patched = ''): ObjectOutput {
  return { result: 'object', object: { written, patched, version } }
}

type Line = readonly [
  input: ObjectInput,
  called: number,
  answered: number | undefined,
  output?: ObjectOutput,
]

function verdict(lines: readonly Line[]): string {
  const operations = lines.map(([input, called, at, output], client) => ({
    client,
    input,
    called,
    answer: at === undefined ? undefined : { at, output: output! },
  }))
  return linearize(objectModel, operations).verdict
}

const made: Line = [create, 0, 1, is('a', 1)]

test.each<[string, readonly Line[]]>([
  ['one after the other', [made, [update, 2, 3, is('b', 2)], [read, 4, 5, is('b', 2)]]],
  [
    'a read during a write sees the state before',
    [made, [update, 2, 5, is('b', 2)], [read, 3, 4, is('a', 1)]],
  ],
  ['and the state after', [made, [update, 2, 5, is('b', 2)], [read, 3, 4, is('b', 2)]]],
  [
    'of two updates of one version one is acknowledged',
    [made, [update, 2, 5, is('b', 2)], [update, 3, 6, conflict]],
  ],
  [
    'a patch keeps what was written',
    [made, [patch, 2, 3, is('a', 2, 'p')], [read, 4, 5, is('a', 2, 'p')]],
  ],
  ['an unanswered write happened', [made, [update, 2, undefined], [read, 3, 4, is('b', 7)]]],
  ['or did not', [made, [update, 2, undefined], [read, 3, 4, is('a', 1)]]],
  [
    'or happened later',
    [made, [update, 2, undefined], [read, 3, 4, is('a', 1)], [read, 5, 6, is('b', 7)]],
  ],
  [
    'unseen, it is why another was refused',
    [made, [patch, 2, undefined], [update, 3, 4, conflict]],
  ],
  [
    'an unanswered delete and a new object',
    [made, [remove, 2, undefined], [create, 3, 4, is('a', 5)]],
  ],
  ['made, deleted, made again', [made, [remove, 2, 3, deleted], [create, 4, 5, is('a', 3)]]],
])('linearizable: %s', (_name, lines) => {
  expect(verdict(lines)).toBe('linearizable')
})

test.each<[string, readonly Line[]]>([
  ['a lost write', [made, [update, 2, 3, is('b', 2)], [read, 4, 5, is('a', 1)]]],
  [
    'a stale read after a newer one',
    [made, [update, 2, 9, is('b', 2)], [read, 3, 4, is('b', 2)], [read, 5, 6, is('a', 1)]],
  ],
  ['a lost create', [made, [read, 2, 3, absent]]],
  ['a deleted object comes back', [made, [remove, 2, 3, deleted], [read, 4, 5, is('a', 1)]]],
  ['deleted twice', [made, [remove, 2, 3, deleted], [remove, 4, 5, deleted]]],
  ['created twice', [made, [create, 2, 3, is('a', 2)]]],
  ['two updates of one version', [made, [update, 2, 5, is('b', 2)], [update, 3, 6, is('b', 3)]]],
  [
    'a patch that undoes an update',
    [made, [update, 2, 3, is('b', 2)], [patch, 4, 5, is('a', 3, 'p')]],
  ],
  [
    'a version that goes back',
    [
      [create, 0, 1, is('a', 5)],
      [remove, 2, 3, deleted],
      [create, 4, 5, is('a', 4)],
    ],
  ],
  ['one version for two states', [made, [patch, 2, 3, is('a', 1, 'p')]]],
  ['an object out of nothing', [[read, 0, 1, is('a', 1)]]],
  ['refused as existing where nothing is', [[create, 0, 1, exists]]],
  ['refused as changed where nothing changed', [made, [update, 2, 3, conflict]]],
  [
    'an unanswered write that comes and goes',
    [made, [update, 2, undefined], [read, 3, 4, is('b', 2)], [read, 5, 6, is('a', 1)]],
  ],
  ['seen before it was requested', [made, [read, 2, 3, is('b', 2)], [update, 4, undefined]]],
])('impossible: %s', (_name, lines) => {
  expect(verdict(lines)).toBe('impossible')
})
