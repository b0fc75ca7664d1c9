import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ListSplitter } from './list-splitter.ts'

interface Split {
  readonly items: readonly unknown[]
  readonly oversized: number
  readonly envelope: unknown
}

/** Feeds `text` in pieces that end at `cuts`. */
function split(text: string, cuts: readonly number[] = [], itemLimit = 1000): Split {
  const items: unknown[] = []
  let oversized = 0
  const splitter = new ListSplitter({
    itemLimit,
    onItem: (item) => items.push(JSON.parse(item)),
    onOversized: () => oversized++,
  })
  const bytes = Buffer.from(text)
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length]
  let start = 0
  for (const end of ends.toSorted((a, b) => a - b)) {
    splitter.push(bytes.subarray(start, end))
    start = end
  }
  return { items, oversized, envelope: splitter.end() }
}

const item = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 3 }))

test('each item is returned once, however the bytes are divided into chunks, and the rest is the envelope', () => {
  fc.assert(
    fc.property(
      fc.array(item),
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
      fc.array(fc.nat()),
      fc.constantFrom(undefined, 2),
      (items, rest, cuts, indent) => {
        const before = { kind: 'List', metadata: { items: [1], note: '"items":[' } }
        const list = { ...before, ...rest, items, after: rest }
        const found = split(JSON.stringify(list, null, indent), cuts, 1_000_000)
        expect(found.items).toEqual(JSON.parse(JSON.stringify(items)))
        expect(found.envelope).toEqual(JSON.parse(JSON.stringify({ ...list, items: [] })))
      },
    ),
    { numRuns: 300 },
  )
})

test('only the item over the limit is dropped', () => {
  const items = [{ name: 'a' }, { name: 'b'.repeat(50) }, { name: 'c' }]
  const found = split(JSON.stringify({ items }), [30, 40], 40)
  expect(found).toMatchObject({ items: [{ name: 'a' }, { name: 'c' }], oversized: 1 })
})

test('`items: null`, as Go servers write empty lists, is an empty list', () => {
  expect(split('{"kind":"List","items":null}')).toEqual({
    items: [],
    oversized: 0,
    envelope: { kind: 'List', items: null },
  })
})

test.each([
  ['cut off in an item', '{"items":[{"a":1},{"a"'],
  ['cut off between items', '{"items":[{"a":1},'],
  ['an HTML page', '<html><body>502 Bad Gateway</body></html>'],
  ['nothing', ''],
  ['items that are no objects', '{"items":[1,2]}'],
])('%s is no list', (_, text) => {
  expect(() => split(text)).toThrow(expect.objectContaining({ code: 'NP_CLIENT_GARBAGE' }))
})

test('an envelope over the limit is NP_CLIENT_TOO_LARGE', () => {
  const splitter = new ListSplitter({ itemLimit: 9, onItem: () => 0, onOversized: () => 0 })
  const piece = Buffer.alloc(600_000, 'x')
  splitter.push(piece)
  expect(() => splitter.push(piece)).toThrow(
    expect.objectContaining({ code: 'NP_CLIENT_TOO_LARGE' }),
  )
})
