import { expect, test } from 'vitest'
import type { SetSpec } from '../../../kernel/nftables/objects.ts'
import type { Content } from '../program/content.ts'
import { hasForm } from './observe.ts'

const SPEC: SetSpec = { key: ['ipv4_addr'], isDynamic: true, size: 9, comment: 'shop/cart' }
const set: Content = { kind: 'set', name: 's', spec: SPEC, elements: [] }
const hook = { type: 'nat', hook: 'output', priority: -100 } as const
const chain: Content = { kind: 'chain', name: 'c', spec: { hook }, rules: [] }

test('size and comment of a set can change', () => {
  expect(hasForm(set, SPEC)).toBe(true)
  expect(hasForm(set, { key: ['ipv4_addr'], isDynamic: true, size: 10 })).toBe(true)
})

test.each<Partial<SetSpec>>([
  { key: ['ipv6_addr'] },
  { data: 'verdict' },
  { data: ['ipv4_addr'] },
  { isInterval: true },
  { hasTimeouts: true },
  { hasCounters: true },
])('a set with %j has another form', (other) => {
  expect(hasForm(set, { ...SPEC, ...other })).toBe(false)
})

test('a chain has the form of its hook', () => {
  expect(hasForm(chain, { hook: { ...hook } })).toBe(true)
  expect(hasForm(chain, { hook: { ...hook, dropsByDefault: true } })).toBe(true)
  expect(hasForm(chain, { hook: { ...hook, priority: -101 } })).toBe(false)
  expect(hasForm(chain, {})).toBe(false)
  expect(hasForm({ ...chain, spec: {} }, { hook })).toBe(false)
})
