import { expect, test } from 'vitest'
import { ConsoleText } from './start-kernel.ts'

test('keeps the end, with plain line ends', () => {
  const console = new ConsoleText()
  expect(console.add('one\r\n')).toBe('one\n')
  console.add(`${'x'.repeat(70_000)}\ntwo\nthree\n`)
  expect(console.text).toHaveLength(65_536)
  expect(console.lastLines(2)).toBe('two\nthree')
})

test('recognises a panic however it arrives', () => {
  const console = new ConsoleText()
  console.add('all is well\nKernel pan')
  expect(console.panic).toBeUndefined()
  console.add('ic - not syncing: Attempted to kill init!\nCPU: 0')
  expect(console.panic).toBe('Kernel panic - not syncing: Attempted to kill init!')
})
