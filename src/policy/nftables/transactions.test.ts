import { expect, test } from 'vitest'
import type { Element } from '../../kernel/nftables/objects.ts'
import { rule, verdict } from '../../kernel/nftables/rules/statements.ts'
import type { Difference } from './difference.ts'
import { WantedTable } from './render.ts'
import { EMPTY } from './testing/scripted-source.ts'
import { transactionsOf } from './transactions.ts'

const MANY: readonly Element[] = Array.from({ length: 9_000 }, (_, at) => ({
  key: Buffer.from([10, 1, at >> 8, at & 0xff]),
}))
const settings = { unknownPods: 'allow', logDeniedPerSecond: 0 } as const
const wanted = new WantedTable({ family: 4, content: EMPTY, settings, excluded: new Set() })

test('what packets notice of a large change is one transaction, between what it needs and what it leaves', () => {
  const difference: Difference = {
    hasOtherForm: false,
    newSets: new Map([['new', { spec: { key: ['ipv4_addr'] }, elements: () => MANY }]]),
    newChains: new Map(),
    changedChains: new Map([['stays', { spec: {}, rules: [rule(verdict('accept'))] }]]),
    elements: new Map([['peers', { remove: [], add: MANY }]]),
    goneChains: [],
    goneSets: ['old'],
  }
  const named = transactionsOf(difference, wanted).map((commands) => [
    ...new Set(commands.map((one) => ('set' in one ? one.set : 'chain' in one && one.chain))),
  ])
  expect(new Set(named.map((one) => one.join()))).toEqual(new Set(['new', 'peers,stays', 'old']))
  expect(named.slice(-2)).toEqual([['peers', 'stays'], ['old']])
  expect(named.length).toBeGreaterThan(3)
})
