import { expect, test } from 'vitest'
import { cidr, settings } from '../../testing/mode-fixtures.ts'
import { RuleText } from '../testing/show-rule.ts'
import { baseSets } from './base-sets.ts'
import { choiceChain, choiceRules, type MapPrefix, type MarkClass } from './choice-chain.ts'

function rulesOf(
  prefix: MapPrefix,
  choices: number,
  mark: MarkClass,
  given = settings(),
  family = 4 as 4 | 6,
) {
  const sets = new Map(baseSets(given, family).map(({ name, spec }) => [name, spec]))
  const text = new RuleText(sets)
  const rules = choiceRules(choiceChain(prefix, choices, mark), given, family)
  return rules?.map((rule) => text.of(rule))
}

function dnat(map: string, key: string) {
  return `dnat to ${key} map @${map} : ${key} map @${map}`
}

test.each([
  ['', 'endpoints', 'daddr . l4proto . dport . random mod 3 offset 1000000'],
  ['inside-', 'inside-endpoints', 'daddr . l4proto . dport . random mod 3 offset 1000000'],
  ['node-port-', 'node-port-endpoints', 'l4proto . dport . random mod 3 offset 1000000'],
  [
    'inside-node-port-',
    'inside-node-port-endpoints',
    'l4proto . dport . random mod 3 offset 1000000',
  ],
] as const)('the maps with prefix "%s" choose one of %s', (prefix, map, key) => {
  expect(rulesOf(prefix, 3, '')).toEqual([dnat(map, key)])
  expect(rulesOf(prefix, 3, '', settings(), 6)).toEqual([dnat(map, key)])
})

const MARK = 'mark set mark & ffffbfff ^ 00004000'

test('each class marks its own packets', () => {
  const first = (mark: MarkClass, given = settings()) => rulesOf('', 1, mark, given)?.slice(0, -1)
  expect(first('')).toEqual([])
  expect(first('-masquerade')).toEqual([MARK])
  expect(first('-off-cluster')).toEqual([`saddr/8 != 0a ${MARK}`])
  expect(first('-on-node')).toEqual([`saddr/8 != 0a fib saddr type == 02000000 ${MARK}`])
  const unknown = settings({ localTraffic: { by: 'none' } })
  expect(first('-on-node', unknown)).toEqual([`fib saddr type == 02000000 ${MARK}`])
})

test('pods by interface: a whole name with its end, a prefix without', () => {
  const first = (localTraffic: ReturnType<typeof settings>['localTraffic']) =>
    rulesOf('', 1, '-off-cluster', settings({ localTraffic }))?.[0]
  expect(first({ by: 'bridge', name: 'cbr0' })).toBe(
    `iifname != 63627230${'00'.repeat(12)} ${MARK}`,
  )
  expect(first({ by: 'interfacePrefix', prefix: 'veth' })).toBe(`iifname != 76657468 ${MARK}`)
})

test('a single pod address is compared without a mask', () => {
  const given = settings({ localTraffic: { by: 'source', cidrs: [cidr('10.0.0.1/32')] } })
  expect(rulesOf('', 1, '-off-cluster', given)?.[0]).toBe(`saddr != 0a000001 ${MARK}`)
})

test.each(['dispatch', 'choose-', 'choose-1-else', 'my-choose-1', 'sticky-x-choose-1'])(
  '%s is no choice chain',
  (name) => expect(choiceRules(name, settings(), 4)).toBeUndefined(),
)
