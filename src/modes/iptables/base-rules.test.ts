import { expect, test } from 'vitest'
import { BaseRules, chainsOf } from '../netfilter/chains/base-rules.ts'
import { keyOf } from '../netfilter/chains/object.ts'
import { cidr, settings } from '../testing/mode-fixtures.ts'
import { baseRules, MARTIANS } from './base-rules.ts'
import { CHAIN } from './names.ts'

const keys = (overrides = {}) => new BaseRules([baseRules(settings(overrides), 4)]).digests

test('nat sees every packet, filter every new connection that leaves or is for an address of this node', () => {
  const places = baseRules(settings(), 4).jumps.map(
    ([table, chain, rule]) => `${table} ${chain} ${rule}`,
  )
  const isNew = '-m conntrack --ctstate NEW -j NPROXY-FILTER'
  expect(places).toEqual([
    'nat PREROUTING -j NPROXY-SERVICES',
    'nat OUTPUT -j NPROXY-SERVICES',
    'nat POSTROUTING -j NPROXY-POSTROUTING',
    `filter INPUT -m addrtype --dst-type LOCAL ${isNew}`,
    `filter OUTPUT ${isNew}`,
    `filter FORWARD ${isNew}`,
    'filter FORWARD -j NPROXY-FORWARD',
  ])
})

test('addresses of Services come before node ports, in both tables', () => {
  const rules = new Map(
    chainsOf(baseRules(settings(), 4)).map(({ chain, rules: text }) => [chain, text]),
  )
  expect(rules.get(CHAIN.services)?.[1]).toBe('-j NPROXY-VIPS')
  expect(rules.get(CHAIN.services)?.at(-1)).toContain('-j NPROXY-NODEPORTS')
  expect(rules.get(CHAIN.filter)?.[1]).toBe('-j NPROXY-FILTER-VIPS')
  expect(rules.get(CHAIN.filter)?.at(-1)).toContain('-j NPROXY-FILTER-NODEPORTS')
})

test('what is translated needs no answer', () => {
  const rules = new Map(
    chainsOf(baseRules(settings(), 4)).map(({ chain, rules: text }) => [chain, text]),
  )
  expect(rules.get(CHAIN.filter)?.[0]).toBe('-m conntrack --ctstate DNAT -j RETURN')
})

test('packets that another mode has taken stay with it, whichever rules come first', () => {
  const [first] = chainsOf(baseRules(settings({ masqueradeBit: 14 }), 4))
  expect(first?.chain).toBe(CHAIN.services)
  expect(first?.rules[0]).toBe('-m mark --mark 0x2000/0x2000 -j RETURN')
})

test('the guard of loopback stands when it is configured, in IPv4 alone', () => {
  expect(MARTIANS.filter((key) => keys().has(key))).toEqual([])
  expect(MARTIANS.filter((key) => keys({ dropMartians: true }).has(key))).toEqual(MARTIANS)
  expect(baseRules(settings({ dropMartians: true }), 6).jumps).toHaveLength(7)
})

test('a chain of its own refuses what no Service has, where Service ranges are known', () => {
  const key = keyOf({ kind: 'chain', family: 4, table: 'filter', chain: CHAIN.ranges })
  const known = { serviceRanges: [cidr('10.96.0.0/12')] }
  expect([keys().has(key), keys(known).has(key)]).toEqual([false, true])
  const places = baseRules(settings(known), 4).jumps.map(([, chain, rule]) => `${chain} ${rule}`)
  expect(places).toContain('FORWARD -m conntrack --ctstate NEW -j NPROXY-RANGES')
})
