import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ObjectKey } from '../mode.ts'
import { entry, settings } from './fixtures.ts'
import { plan } from './plan.ts'
import { IptablesProgram } from './program.ts'

const key = (text: string) => text as ObjectKey
const keys = (...texts: readonly string[]) => texts.map(key)

test('sets frame the rules, IPv4 comes before IPv6, nat before filter', () => {
  const set = keys(
    '6/nat/NPROXY-VIPS',
    '4/filter/NPROXY-FILTER',
    'set/NPROXY-A4-x',
    '4/nat/NPROXY-VIPS',
  )
  const { createSets, commits, destroySets } = plan({ set, unset: keys('set/NPROXY-A4-y') }, 500)
  expect(createSets).toEqual(['set/NPROXY-A4-x'])
  expect(destroySets).toEqual(['set/NPROXY-A4-y'])
  expect(commits.map(({ family, table }) => `${family} ${table}`)).toEqual([
    '4 nat',
    '4 filter',
    '6 nat',
  ])
})

test('each chain comes after those that it leads to, jumps last; removal the other way round', () => {
  const inOrder = keys(
    '4/nat/NPROXY-C-a',
    '4/nat/NPROXY-L-a',
    '4/nat/NPROXY-E-a',
    '4/nat/NPROXY-F-a',
    '4/nat/NPROXY-V-0123',
    '4/nat/NPROXY-V-01',
    '4/nat/NPROXY-VIPS',
    '4/nat/NPROXY-SERVICES',
    '4/nat/PREROUTING>-j NPROXY-SERVICES',
  )
  const [set] = plan({ set: inOrder.toReversed(), unset: [] }, 500).commits
  expect(set?.set).toEqual(inOrder)
  const [unset] = plan({ set: [], unset: inOrder }, 500).commits
  expect(unset?.unset).toEqual(inOrder.toReversed())
})

test('a small change is one commit; a large one is cut, removals after everything else', () => {
  const chains = (letter: string) =>
    Array.from({ length: 5 }, (_, n) => key(`4/nat/NPROXY-C-${letter}${n}`))
  const change = { set: chains('a'), unset: chains('b') }
  expect(plan(change, 10).commits).toHaveLength(1)
  const commits = plan(change, 3).commits
  expect(commits.map(({ set, unset }) => [set.length, unset.length])).toEqual([
    [3, 0],
    [2, 0],
    [0, 3],
    [0, 2],
  ])
})

test('nothing to do is no commit', () => {
  expect(plan({ set: [], unset: [] }, 500)).toEqual({
    createSets: [],
    commits: [],
    destroySets: [],
  })
})

test('in whatever slices, no rule leads to a chain that comes later', () => {
  const program = new IptablesProgram(settings({ families: [4] }))
  for (let n = 0; n < 400; n++) {
    const id = `s${n}` as Parameters<typeof program.replace>[0]
    const [frontend] = entry().frontends
    const address = `172.30.${n >> 8}.${n & 255}` as never
    program.replace(id, entry({ id, frontends: [{ ...frontend!, ip: address }] }))
  }
  const set = [...program.takeChanges().keys()]
  fc.assert(
    fc.property(
      fc.shuffledSubarray(set, { minLength: set.length }),
      fc.integer({ min: 1, max: 700 }),
      (order, size) => {
        const made = new Set<string>()
        for (const commit of plan({ set: order, unset: [] }, size).commits) {
          for (const one of commit.set) made.add(one)
          for (const one of commit.set) {
            for (const rule of program.rulesOf(one) ?? [one]) {
              const [, chain] = /-[jg] (NPROXY-[\w-]+)$/.exec(rule) ?? []
              if (chain) expect(made).toContain(`${commit.family}/${commit.table}/${chain}`)
            }
          }
        }
      },
    ),
    { numRuns: 30 },
  )
})
