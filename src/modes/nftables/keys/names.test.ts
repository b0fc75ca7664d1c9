import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EntryId } from '../../../forwarding/entry.ts'
import {
  CHAIN,
  clientMapOf,
  clientNames,
  isBackendSet,
  isFilledByPackets,
  portMapOf,
  SET,
  stickyNames,
  TABLE,
} from './names.ts'

const id = 'shop/cart:http/TCP/4' as EntryId
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom('"; flush ruleset', '$(reboot)', '\n\r\0"', '\\"', '🦊'.repeat(90), '*/?#'),
)

/** A word that the parser of nft takes for a name. */
const WORD = /^[a-zA-Z][a-zA-Z0-9/\\_.-]*$/

test('names are words of nft, no longer than the kernel takes', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const names = { ...clientNames(text), ...stickyNames(text) }
      const chain = 'inside-node-port-choose-4096-off-cluster'
      const pools = ['cluster', 'local'] as const
      for (const name of [
        names.remember,
        ...pools.flatMap((pool) => [
          names.clients(pool),
          names.ports(pool),
          names.backends(pool),
          names.sticky(pool, chain),
        ]),
      ]) {
        expect(name).toMatch(WORD)
        expect(name.length).toBeLessThan(128)
      }
    }),
  )
})

/** Words of the parser of nft that begin a statement or a field; none of them can be a name. */
const KEYWORDS = [
  'accept',
  'add',
  'chain',
  'continue',
  'counter',
  'ct',
  'delete',
  'drop',
  'dup',
  'element',
  'fib',
  'flow',
  'flush',
  'fwd',
  'goto',
  'insert',
  'jump',
  'limit',
  'list',
  'log',
  'map',
  'mark',
  'masquerade',
  'meta',
  'policy',
  'queue',
  'quota',
  'redirect',
  'reject',
  'reset',
  'return',
  'rule',
  'set',
  'snat',
  'dnat',
  'socket',
  'table',
  'type',
  'typeof',
  'update',
  'vmap',
]

test('no name of our own is a keyword of nft', () => {
  const names = [TABLE, ...Object.values(SET), ...Object.values(CHAIN)]
  expect(names.filter((name) => KEYWORDS.includes(name) || !WORD.test(name))).toEqual([])
  expect(new Set(names).size).toBe(names.length)
})

test('the names of two entries and of their pools differ', () => {
  const all = [id, 'shop/cart:http/TCP/6' as EntryId].flatMap((one) => {
    const names = { ...clientNames(one), ...stickyNames(one) }
    return (['cluster', 'local'] as const).flatMap((pool) => [
      names.clients(pool),
      names.ports(pool),
      names.backends(pool),
      names.sticky(pool, 'choose-1'),
    ])
  })
  expect(new Set(all).size).toBe(16)
})

test('a set of backends leads to the maps of its clients, which packets fill', () => {
  const names = clientNames(id)
  for (const pool of ['cluster', 'local'] as const) {
    const backends = names.backends(pool)
    expect([isBackendSet(backends), isFilledByPackets(backends)]).toEqual([true, false])
    expect(clientMapOf(backends)).toBe(names.clients(pool))
    expect(portMapOf(backends, 6)).toBe(names.ports(pool))
    expect(portMapOf(backends, 4)).toBeUndefined()
    const filled = [names.clients(pool), names.ports(pool), SET.connections]
    expect(filled.map(isFilledByPackets)).toEqual([true, true, true])
    expect([names.clients(pool), names.ports(pool)].map(isBackendSet)).toEqual([false, false])
  }
})

test('a set of Pods leads to the map of their clients, which has no ports', () => {
  const names = clientNames('shop/cart/6', true)
  const pods = names.backends('local')
  expect([isBackendSet(pods), isFilledByPackets(pods)]).toEqual([true, false])
  expect(clientMapOf(pods)).toBe(names.clients('local'))
  expect(portMapOf(pods, 6)).toBeUndefined()
})
