import { expect, test } from 'vitest'
import { namespaceOf, ownerOf, runName } from './run.ts'

test('a name holds the process id of its owner', () => {
  const run = runName(4711)
  expect(ownerOf(run)).toEqual({ run, pid: 4711 })
  expect(ownerOf(namespaceOf(run, 'pod1'))).toEqual({ run, pid: 4711 })
})

test.each([
  '',
  'np-sandbox',
  'np-sandbox-x-node',
  'nplab-4711-node',
  'my-np-sandbox-1',
  'np-sandbox-47x',
])('%j is the name of no run', (name) => {
  expect(ownerOf(name)).toBeUndefined()
})
