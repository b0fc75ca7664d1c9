import { expect, test } from 'vitest'
import { describeProblem } from './problem.ts'
import { SERVER_TABLE } from './testing/server.ts'
import { type Entry, readYaml } from './yaml-source.ts'

function read(text: string) {
  return readYaml({ name: 's.yaml', text }, SERVER_TABLE.codes)
}

function problems(text: string): string[] {
  const yaml = read(text)
  return yaml.ok ? [] : yaml.problems.map(describeProblem)
}

/** How many entries there are, at any depth. */
function count(entries: readonly Entry[]): number {
  return entries.reduce((sum, { value }) => sum + 1 + ('map' in value ? count(value.map) : 0), 0)
}

function size(text: string): number {
  const yaml = read(text)
  return yaml.ok ? count(yaml.entries) : 0
}

test('every entry knows where its key and its value stand', () => {
  expect(read('# c\na:\n  b: 1\n')).toMatchObject({
    start: { line: 2, column: 1 },
    entries: [
      {
        key: 'a',
        keyAt: { file: 's.yaml', line: 2, column: 1 },
        value: { map: [{ key: 'b', valueAt: { line: 3, column: 6 }, value: { raw: 1 } }] },
      },
    ],
  })
})

test('anchors cannot grow: lists are read where they stand, the first 100 aliases are followed', () => {
  const layers = Array.from({ length: 30 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(9)}]`)
  layers[0] = 'a0: &a0 [x]'
  expect(size(layers.join('\n'))).toBe(30)
  expect(size('a: &m\n  a: *m\n')).toBe(5 + 1)
  const loop = Array.from({ length: 3_000 }, (_, i) => `  x${i}: *m`).join('\n')
  expect(size(`a: &m\n${loop}\n`)).toBeLessThanOrEqual(10_000)
  const aliases = Array.from({ length: 101 }, (_, i) => `x${i}: *a`).join('\n')
  const yaml = read(`a: &a n\n${aliases}\n`)
  expect(yaml.ok && yaml.entries.slice(-2).map(({ value }) => value)).toEqual([
    { raw: 'n' },
    { bad: expect.stringMatching(/one of too many/) },
  ])
})

test.each([
  [`# ${'x'.repeat(1_048_576)}`, /^s\.yaml:1:1: larger than 1 MiB/],
  [`a: ${'['.repeat(100_000)}`, /nested too deeply|not YAML/],
])('%#: too large and too deep are refused', (text, message) => {
  expect(problems(text)[0]).toMatch(message)
})

test('lists are at most 1000 long', () => {
  const yaml = read(`a: [${'1,'.repeat(1_001)}]`)
  expect(yaml.ok && yaml.entries[0]?.value).toEqual({ bad: 'write at most 1000 items' })
})

test('at most ten mistakes are reported', () => {
  expect(problems('a: 1\n'.repeat(50))).toHaveLength(10)
})
