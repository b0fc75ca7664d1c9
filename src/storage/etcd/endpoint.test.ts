import { expect, test } from 'vitest'
import { parseEndpoints } from './endpoint.ts'

test.each([
  ['http://127.0.0.1:2379', '127.0.0.1:2379', false],
  ['https://etcd.example:12379/', 'etcd.example:12379', true],
  ['https://etcd.example:443', 'etcd.example:443', true],
  ['https://[2001:db8::1]', '[2001:db8::1]:2379', true],
  ['etcd://a', 'a:2379', true],
])('%s', (text, address, secure) => {
  expect(parseEndpoints([text], true)).toEqual([{ address, secure }])
})

test('several in one text share the scheme; etcd: without credentials is plain', () => {
  expect(parseEndpoints(['etcd://a:1,b:2', 'https://c:3, d:4'], false)).toEqual([
    { address: 'a:1', secure: false },
    { address: 'b:2', secure: false },
    { address: 'c:3', secure: true },
    { address: 'd:4', secure: true },
  ])
})

test.each(['', 'ftp://a', 'http://', 'http://a:99999', 'http://me:pw@a', 'http://a/registry'])(
  '%j is refused',
  (text) => {
    expect(() => parseEndpoints([text], false)).toThrow(
      expect.objectContaining({ code: 'NP_STORAGE_ETCD_ENDPOINT' }),
    )
  },
)
