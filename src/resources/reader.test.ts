import { expect, test } from 'vitest'
import { isSameValue, Reader } from './reader.ts'
import { placesOf } from './testing/raw-objects.ts'

function reader(json: string): Reader {
  return Reader.of(JSON.parse(json), 'decode')
}

test('spells out where a value stands', () => {
  const object = reader('{"a":{"b":[{"c":1},{"c":{"x.io/d":2}}]}}')
  const [first, second] = object.object('a').objects('b')
  expect(first?.path('c')).toBe('a.b[0].c')
  expect(second?.object('c').path('x.io/d')).toBe('a.b[1].c[x.io/d]')
  expect(second?.map('c').path('d')).toBe('a.b[1].c[d]')
})

test.each(['[]', '"text"', '7', 'null', 'true'])('%s is no object and reads as empty', (json) => {
  const object = reader(json)
  expect(object.keys()).toEqual([])
  expect(placesOf(object.findings.all)).toEqual([` ${json}`])
})

test('what has the wrong type is absent, with a finding', () => {
  const object = reader('{"text":1,"flag":"true","object":[],"list":{},"objects":[1,{},null]}')
  expect(object.text('text')).toBeUndefined()
  expect(object.flag('flag')).toBeUndefined()
  expect(object.object('object').keys()).toEqual([])
  expect(object.list('list')).toEqual([])
  expect(object.objects('objects')).toHaveLength(1)
  expect(placesOf(object.findings.all)).toEqual([
    'text 1',
    'flag "true"',
    'object []',
    'list {}',
    'objects[0] 1',
    'objects[2] null',
  ])
})

test('null and absent are the same and no problem', () => {
  for (const json of ['{}', '{"x":null}']) {
    const object = reader(json)
    expect([object.value('x'), object.text('x'), object.flag('x')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect([object.list('x'), object.object('x').keys(), object.objects('x')]).toEqual([[], [], []])
    expect(object.findings.all).toEqual([])
  }
})

test('sees own properties only', () => {
  const empty = reader('{}')
  for (const key of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    expect(empty.value(key)).toBeUndefined()
  }
  const own = reader('{"__proto__":{"text":"mine"},"hasOwnProperty":"x","constructor":1}')
  expect(own.object('__proto__').text('text')).toBe('mine')
  expect(own.value('text')).toBeUndefined()
  expect(own.text('hasOwnProperty')).toBe('x')
  expect(({} as Record<string, unknown>)['text']).toBeUndefined()
})

test.each<[unknown, unknown, boolean]>([
  [1, 1, true],
  [1, '1', false],
  [null, undefined, true],
  [{}, [], false],
  [[1, 2], [1, 2], true],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [{ a: 1, b: [{}] }, { b: [{}], a: 1 }, true],
  [{ a: null }, {}, true],
  [{ a: 1 }, {}, false],
  [{}, { toString: 1 }, false],
])('%j and %j: %s', (a, b, same) => {
  expect(isSameValue(a, b)).toBe(same)
})
