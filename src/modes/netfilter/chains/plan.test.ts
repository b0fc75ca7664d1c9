import { expect, test } from 'vitest'
import type { ObjectKey } from '../../mode.ts'
import { type PlanOptions, plan } from './plan.ts'

const keys = (...texts: readonly string[]) => texts as readonly ObjectKey[]
const options = (overrides: Partial<PlanOptions> = {}): PlanOptions => {
  return { tables: ['nat', 'filter'], chainsPerCommit: 500, rankOf: () => 0, ...overrides }
}

test('IPv4 comes before IPv6, tables come in the order of the mode', () => {
  const set = keys('6/nat/X-A', '4/filter/X-B', '4/mangle/X-C', '4/nat/X-A')
  const placesOf = (tables: PlanOptions['tables']) =>
    plan({ set, unset: [] }, options({ tables })).map(({ family, table }) => `${family} ${table}`)
  expect(placesOf(['nat', 'filter', 'mangle'])).toEqual(['4 nat', '4 filter', '4 mangle', '6 nat'])
  expect(placesOf(['mangle', 'filter', 'nat'])).toEqual(['4 mangle', '4 filter', '4 nat', '6 nat'])
})

test.each(['4/mangle/X-A', 'set/X-A'])('%s is not for this plan: a bug', (text) => {
  expect(() => plan({ set: keys(text), unset: [] }, options())).toThrow(TypeError)
  expect(() => plan({ set: [], unset: keys(text) }, options())).toThrow(TypeError)
})

test('lower ranks come first, jumps last; removal goes the other way round', () => {
  const inOrder = keys('4/nat/X-C', '4/nat/X-A', '4/nat/X-B', '4/nat/OUTPUT>-j X-B')
  const rankOf = (chain: string) => (chain === 'X-C' ? 1 : 2)
  const change = { set: inOrder.toReversed(), unset: [] }
  expect(plan(change, options({ rankOf }))[0]?.set).toEqual(inOrder)
  const removal = { set: [], unset: inOrder }
  expect(plan(removal, options({ rankOf }))[0]?.unset).toEqual(inOrder.toReversed())
})

test('a small change is one commit; a large one is cut, removals after everything else', () => {
  const chains = (letter: string) =>
    keys(...Array.from({ length: 5 }, (_, n) => `4/nat/X-C-${letter}${n}`))
  const change = { set: chains('a'), unset: chains('b') }
  expect(plan(change, options({ chainsPerCommit: 10 }))).toHaveLength(1)
  const commits = plan(change, options({ chainsPerCommit: 3 }))
  expect(commits.map(({ set, unset }) => [set.length, unset.length])).toEqual([
    [3, 0],
    [2, 0],
    [0, 3],
    [0, 2],
  ])
})

test('nothing to do is no commit', () => {
  expect(plan({ set: [], unset: [] }, options())).toEqual([])
})
