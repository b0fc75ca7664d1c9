import { expect, test } from 'vitest'
import { namespaceOf, ownerOf, runName } from './run.ts'

test('a name tells whose it is', () => {
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
])('%j is nobody of ours', (name) => {
  expect(ownerOf(name)).toBeUndefined()
})
