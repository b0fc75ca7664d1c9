import { expect, test } from 'vitest'
import { mapList } from './map-list.ts'
import { ipAddress } from './network-types.ts'
import { integer, listOf } from './scalar-types.ts'
import { matchesSchema } from './testing/matches-schema.ts'
import type { Raw } from './value-type.ts'

interface Peer {
  readonly address: string
  readonly port: number
  readonly tags: readonly string[]
}

const peers = mapList<Peer>('list of peers', {
  address: { type: ipAddress },
  port: { type: integer(1, 65_535), fallback: 179 },
  tags: { type: listOf('list of tags', () => undefined), fallback: [] },
})
const ONE = { address: '10.0.0.1', port: 179, tags: [] }

test('fields that are left out have their fallback; what is encoded reads back', () => {
  const decoded = peers.decode([{ address: '10.0.0.1' }, { address: '::1', port: 1, tags: ['a'] }])
  const value = [ONE, { address: '::1', port: 1, tags: ['a'] }]
  expect(decoded).toEqual({ ok: true, value })
  expect(peers.decode(peers.encode(value))).toEqual(decoded)
})

test.each<readonly [Raw, string | undefined, string]>([
  [5, undefined, 'write a list of maps'],
  [[5], '[0]', 'write a map with address, port, tags'],
  [[[]], '[0]', 'write a map with address, port, tags'],
  [[{ address: '10.0.0.1' }, {}], '[1]', 'address is missing; write it'],
  [[{ address: '10.0.0.1', tag: 'a' }], '[0].tag', 'no such field; did you mean tags?'],
  [[{ adress: '10.0.0.1' }], '[0].adress', 'no such field; did you mean address?'],
  [[{ address: '10.0.0.1', port: null }], '[0].port', 'write a whole number from 1 to 65535'],
  [[{ toString: 1 }], '[0].toString', 'no such field; write address, port, tags'],
  [[{ address: '10.0.0.1', port: 0 }], '[0].port', 'write a whole number from 1 to 65535'],
  [[{ address: '10.0.0.01' }], '[0].address', 'write an IP address without leading zeros'],
])('%j is refused at %s: %s', (raw, part, remedy) => {
  expect(peers.decode(raw)).toEqual(
    part === undefined ? { ok: false, remedy } : { ok: false, part, remedy },
  )
  expect(matchesSchema(peers.schema, raw)).toBe(false)
})

test('a flag has maps as JSON', () => {
  expect(peers.fromFlag('{"address":"10.0.0.1"},{"address":"10.0.0.1"}')).toEqual({
    ok: true,
    value: [ONE, ONE],
  })
  expect(peers.fromFlag('10.0.0.1')).toEqual({
    ok: false,
    remedy: 'write a map as JSON, such as {"name":"value"}',
  })
})
