import { expect, test } from 'vitest'
import { describeFault, type Located, type LocatedValue, locateYaml, positionText } from './yaml.ts'

function faults(text: string): readonly string[] {
  const located = locateYaml({ file: 's.yaml', text })
  if (located.ok) return []
  return located.faults.map((one) => describeFault({ ...one, field: '', value: undefined }))
}

function root(text: string): Located {
  const located = locateYaml({ file: 's.yaml', text })
  if (!located.ok) throw new Error(faults(text).join('\n'))
  return located.root
}

function childrenOf(value: LocatedValue): readonly Located[] {
  if ('fields' in value) return [...value.fields.values()]
  return 'items' in value ? value.items : []
}

/** The values at any depth. */
function all(located: Located): readonly Located[] {
  return [located, ...childrenOf(located.value).flatMap(all)]
}

test('every value knows its path, and where it and its field stand', () => {
  const found = all(root('# c\na:\n  b: [1, x]\n  c:\n'))
  expect(
    found.map(({ path, at, fieldAt }) => [path, positionText(at), positionText(fieldAt)]),
  ).toEqual([
    ['', 's.yaml:2:1', 's.yaml:2:1'],
    ['a', 's.yaml:3:3', 's.yaml:2:1'],
    ['a.b', 's.yaml:3:6', 's.yaml:3:3'],
    ['a.b[0]', 's.yaml:3:7', 's.yaml:3:7'],
    ['a.b[1]', 's.yaml:3:10', 's.yaml:3:10'],
    ['a.c', 's.yaml:4:5', 's.yaml:4:3'],
  ])
})

test.each([
  [
    'lists of aliases',
    Array.from({ length: 30 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(9)}]`)
      .join('\n')
      .replace(/\[.*/, '[x]'),
  ],
  [
    'a map in itself',
    `a: &m\n${Array.from({ length: 3_000 }, (_, i) => `  x${i}: *m`).join('\n')}\n`,
  ],
  ['a long list', `a: [${'1,'.repeat(30_000)}]`],
])('%s cannot grow beyond 20,000 values', (_, text) => {
  const found = all(root(text))
  expect(found.length).toBeLessThanOrEqual(20_001)
  expect(found.map(({ value }) => value)).toContainEqual({ unreadable: 'too many values' })
})

test('an alias is what its anchor above stands for', () => {
  const values = all(root('a: &a n\nb: *a\nc: &a m\nd: *a\ne: *z\n')).slice(1)
  expect(values.map(({ value }) => value)).toEqual([
    { scalar: 'n' },
    { scalar: 'n' },
    { scalar: 'm' },
    { scalar: 'm' },
    { unreadable: 'an alias without its anchor; write the value itself' },
  ])
})

test('values that mean different things to different readers are not read', () => {
  const values = all(root('[010, .inf, "010", 0x10]')).slice(1)
  expect(values.map(({ value }) => value)).toEqual([
    { unreadable: expect.stringMatching(/^a leading zero/) },
    { unreadable: 'write text, a number, true or false' },
    { scalar: '010' },
    { scalar: 16 },
  ])
})

test('values are read ten levels deep', () => {
  const values = all(root('a: &m\n  a: *m\n'))
  expect(values).toHaveLength(11)
  expect(values.at(-1)?.value).toEqual({ unreadable: 'nested too deeply' })
})

test.each([
  [`# ${'x'.repeat(1_048_576)}`, /^s\.yaml:1:1: larger than 1 MiB/],
  [`# ${'ä'.repeat(524_288)}`, /^s\.yaml:1:1: larger than 1 MiB/],
  [`a: ${'['.repeat(20_000)}`, /nested too deeply/],
  ['a: 1\n---\nb: 1', /^s\.yaml:2:1: a second document starts here/],
  ['a: 1\na: 2', /^s\.yaml:2:1: the field stands here for the second time/],
  ['a:\n\tb: 1', /^s\.yaml:2:1: tabs cannot indent YAML/],
])('%#: what is not one small document is refused', (text, message) => {
  expect(faults(text)[0]).toMatch(message)
})

test('at most ten mistakes are reported', () => {
  expect(faults('a: 1\n'.repeat(50))).toHaveLength(10)
})
