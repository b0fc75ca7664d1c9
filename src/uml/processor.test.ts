import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nextProcessor, processorsOf } from './processor.ts'

test('reads which processors a process may use', () => {
  expect(processorsOf('Name:\tsh\nCpus_allowed:\tf\nCpus_allowed_list:\t0-2,8\n')).toEqual([
    0, 1, 2, 8,
  ])
  expect(processorsOf('Cpus_allowed_list:\t5\n')).toEqual([5])
})

test('uses one after the other', () => {
  const usable = processorsOf(readFileSync('/proc/self/status', 'utf8'))
  expect(usable.map(nextProcessor).toSorted((a, b) => a - b)).toEqual(usable)
})
