import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../../lib/json.ts'
import { StatusError } from '../status/status.ts'
import { applyJsonPatch } from './json-patch.ts'

const LIMITS = { patchOperations: 10_000, patchCopyBytes: 1000, jsonDepth: 10 }

function patched(document: JsonObject, ...operations: readonly JsonObject[]): Json {
  const result = applyJsonPatch(document, [...operations], LIMITS)
  return result instanceof StatusError ? `${result.status.code} ${result.status.message}` : result
}

test('the operations of RFC 6902', () => {
  const document = { list: [1, 2], 'a/b': { '~': 1 } }
  const operations = [
    { op: 'add', path: '/list/1', value: 'between' },
    { op: 'add', path: '/list/-', value: 'last' },
    { op: 'remove', path: '/list/0' },
    { op: 'replace', path: '/a~1b/~0', value: null },
    { op: 'copy', from: '/list', path: '/copy' },
    { op: 'move', from: '/copy/0', path: '/copy/2' },
    { op: 'test', path: '/copy', value: [2, 'last', 'between'] },
    { op: 'test', path: '/a~1b', value: { '~': null } },
  ]
  expect(patched(document, ...operations)).toEqual({
    list: ['between', 2, 'last'],
    'a/b': { '~': null },
    copy: [2, 'last', 'between'],
  })
  expect(document).toEqual({ list: [1, 2], 'a/b': { '~': 1 } })
  expect(patched(document, { op: 'add', path: '', value: 7 })).toBe(7)
})

test('a value that is added twice is two values', () => {
  const value = { x: 1 }
  const result = patched(
    {},
    { op: 'add', path: '/a', value },
    { op: 'add', path: '/b', value },
    { op: 'replace', path: '/a/x', value: 2 },
  )
  expect(result).toEqual({ a: { x: 2 }, b: { x: 1 } })
  expect(value).toEqual({ x: 1 })
})

test('__proto__ and constructor are ordinary names', () => {
  const result = patched(
    {},
    { op: 'add', path: '/__proto__', value: { polluted: true } },
    { op: 'copy', from: '/__proto__', path: '/constructor' },
  )
  expect(JSON.stringify(result)).toBe(
    '{"__proto__":{"polluted":true},"constructor":{"polluted":true}}',
  )
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('copies are bounded by bytes, inserts by what they shift, nesting by depth', () => {
  const big = 'x'.repeat(600)
  const copies = ['/b', '/c'].map((path) => ({ op: 'copy', from: '/big', path }))
  expect(patched({ big }, ...copies)).toMatch(/^413 .* more than 1000 bytes/)
  const list = Array.from({ length: 100_000 }, () => 0)
  const inserts = Array.from({ length: 300 }, () => ({ op: 'add', path: '/list/0', value: 0 }))
  expect(patched({ list }, ...inserts)).toMatch(/^413 .* shifts more than/)
  const deeper = Array.from({ length: 12 }, () => ({ op: 'copy', from: '/a', path: '/a/a' }))
  expect(patched({ a: {} }, ...deeper)).toContain('nested deeper than 10 levels')
})

test('operations on a small part of a large document cost no copy of it', () => {
  const large = Array.from({ length: 40_000 }, (_, index) => ({ index }))
  const document = { large, pair: [1, 2] }
  const swaps = Array.from({ length: 9_000 }, () => ({
    op: 'move',
    from: '/pair/0',
    path: '/pair/1',
  }))
  expect(patched(document, ...swaps)).toEqual(document)
}, 5_000)
