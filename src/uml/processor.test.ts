import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { processorFor, processorsOf } from './start-kernel.ts'

test('reads which processors a process may use', () => {
  expect(processorsOf('Name:\tsh\nCpus_allowed:\tf\nCpus_allowed_list:\t0-2,8\n')).toEqual([
    0, 1, 2, 8,
  ])
  expect(processorsOf('Cpus_allowed_list:\t5\n')).toEqual([5])
})

test('counts round those that this process may use', () => {
  const usable = processorsOf(readFileSync('/proc/self/status', 'utf8'))
  const turns = [...usable.keys(), usable.length]
  expect(turns.map(processorFor)).toEqual([...usable, usable[0]])
})
