import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { KeyValueSchema } from './generated/etcd_pb.ts'
import { KeySpace } from './key-space.ts'

const keys = new KeySpace('/registry/')

function show(prefix: string, after?: string) {
  const { key, rangeEnd } = keys.range(prefix, after)
  return [String(key), String(rangeEnd)]
}

test('keys are encoded under the root, and decoded without it', () => {
  expect(String(keys.encode('/pods/a'))).toBe('/registry/pods/a')
  expect(keys.decode(keys.encode('/pods/a'))).toBe('/pods/a')
})

test('a range holds a prefix, or what follows a key in it; the empty prefix is the whole store', () => {
  expect(show('/pods/')).toEqual(['/registry/pods/', '/registry/pods0'])
  expect(show('/pods/', '/pods/a')).toEqual(['/registry/pods/a\0', '/registry/pods0'])
  expect(show('/pods/', '/a')).toEqual(['/registry/pods/', '/registry/pods0'])
  expect(show('')).toEqual(['/registry/', '/registry0'])
})

test('everything is the marker and all keys; the marker is in no range of keys', () => {
  const { key, rangeEnd } = keys.everything()
  expect([String(key), String(rangeEnd)]).toEqual(['/registry.revision', '/registry0'])
  expect(Buffer.compare(keys.range('').key, keys.marker)).toBe(1)
})

test('an entry keeps neither its response nor a buffer pool in memory', () => {
  const response = Buffer.from('/registry/a and a lot more')
  const pair = create(KeyValueSchema, {
    key: response.subarray(0, 11),
    value: response.subarray(12, 15),
    createRevision: 3n,
    modRevision: 4n,
  })
  const entry = keys.entry(pair)
  response.fill(0)
  expect(entry).toEqual({
    key: '/a',
    value: Buffer.from('and'),
    createRevision: 3,
    modRevision: 4,
  })
  expect(entry.value.buffer.byteLength).toBe(3)
})
