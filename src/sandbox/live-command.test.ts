import { expect, test } from 'vitest'
import { commandOf } from './run-live.ts'

test.each([
  ['+', { kind: 'scale', by: 1 }],
  ['-', { kind: 'scale', by: -1 }],
  ['2', { kind: 'toggle', pod: 'pod-2' }],
  ['d', { kind: 'rollOut' }],
  ['q', { kind: 'quit' }],
  ['\u0003', { kind: 'quit' }],
  ['4', undefined],
  ['\u001b', undefined],
])('key %j', (key, command) => {
  expect(commandOf(key)).toEqual(command)
})
