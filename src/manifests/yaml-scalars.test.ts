import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { documentOf, resolveScalars, scalarOf, UNRESOLVED } from './yaml-scalars.ts'

/** What kubectl 1.32 printed as JSON for each of these values. */
test.each([
  ['030100', 12_352],
  ['0o30100', 12_352],
  ['0O17', 15],
  ['0o8', '0o8'],
  ['0777_7', 4095],
  ['0_7', 7],
  ['08', 8],
  ['019', 19],
  ['-010', -8],
  ['0x1F', 31],
  ['-0x1f', -31],
  ['0x', '0x'],
  ['0b11', 3],
  ['0B1', 1],
  ['+5', 5],
  ['1_000', 1000],
  ['1__0', 10],
  ['12345678901234567890', 12_345_678_901_234_567_000],
  ['123456789012345678901234567890', 1.234_567_890_123_456_8e29],
  ['1e3', 1000],
  ['1E+3', 1000],
  ['1e-3', 0.001],
  ['1e400', '1e400'],
  ['.5', 0.5],
  ['-.5', -0.5],
  ['+.5e3', 500],
  ['1.', 1],
  ['1.0', 1],
  ['.', '.'],
  ['yes', true],
  ['y', true],
  ['on', true],
  ['TRUE', true],
  ['tRue', 'tRue'],
  ['NO', false],
  ['n', false],
  ['Off', false],
  ['~', null],
  ['Null', null],
  ['', null],
  ['2020-01-01', '2020-01-01'],
  ['2001-12-14t21:59:43.10-05:00', '2001-12-14t21:59:43.10-05:00'],
  ['12:30:45', '12:30:45'],
  ['10.0.0.1', '10.0.0.1'],
  ['web', 'web'],
])('%j is %j', (text, value) => {
  expect(scalarOf(text)).toBe(value)
})

function read(text: string): unknown {
  const document = parseDocument(text, UNRESOLVED)
  resolveScalars(document)
  return document.toJS()
}

test('quotes and tags decide, keys are texts, and maps are merged', () => {
  const typed = { a: 'yes', b: '5', c: 7, d: 'on' }
  expect(read('a: "yes"\nb: !!str 5\nc: !!int "7"\nd: |-\n  on\n')).toEqual(typed)
  expect(read('1: a\non: b\nn: c\n~: d\n')).toEqual({ 1: 'a', true: 'b', false: 'c', '~': 'd' })
  expect(read('a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n')).toMatchObject({ b: { x: 1, true: 2 } })
})

test('a text that was written is read as itself, as a value and as a key', () => {
  const number = fc.stringMatching(/^[-+]?[.\d][_\dxXoObBa-fA-F.:eE+-]{0,8}$/)
  const word = fc.constantFrom('yes', 'Y', 'n', 'OFF', 'on', 'null', '~', '', '.inf', '-.INF', '<<')
  fc.assert(
    fc.property(fc.oneof(number, word, fc.string()), (text) => {
      expect(read(documentOf({ [text]: text }).toString())).toEqual({ [text]: text })
    }),
    { numRuns: 2_000 },
  )
})
