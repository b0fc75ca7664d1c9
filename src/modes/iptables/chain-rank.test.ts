import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fakeNode, serviceAt } from '../../../test/support/modes/fake-node.ts'
import type { ObjectKey } from '../mode.ts'
import { plan } from '../netfilter/chains/plan.ts'
import { entry, settings } from '../testing/mode-fixtures.ts'

import { OWNED_CHAINS, rankOf } from './names.ts'
import { IptablesProgram } from './program.ts'

const slices = (set: readonly ObjectKey[], chainsPerCommit: number) =>
  plan({ set, unset: [] }, { ...OWNED_CHAINS, rankOf, chainsPerCommit })

test('nat comes before filter', () => {
  const set = ['4/filter/NPROXY-FILTER', '4/nat/NPROXY-SERVICES'] as ObjectKey[]
  expect(slices(set, 500).map(({ table }) => table)).toEqual(['nat', 'filter'])
})

test('each chain comes after those that it leads to, jumps last', () => {
  const inOrder = [
    '4/nat/NPROXY-C-a',
    '4/nat/NPROXY-L-a',
    '4/nat/NPROXY-E-a',
    '4/nat/NPROXY-F-a',
    '4/nat/NPROXY-V-0123',
    '4/nat/NPROXY-V-01',
    '4/nat/NPROXY-VIPS',
    '4/nat/NPROXY-SERVICES',
    '4/nat/PREROUTING>-j NPROXY-SERVICES',
  ] as ObjectKey[]
  expect(slices(inOrder.toReversed(), 500)[0]?.set).toEqual(inOrder)
})

test('the mode writes in this order', async () => {
  const { iptables, sync } = fakeNode({ settings: { families: [4] } })
  await sync(serviceAt('a', '172.30.0.1'))
  const declared = iptables.texts[0]?.split('COMMIT')[0]?.match(/^:NPROXY-[A-Z]+/gm)
  const wanted = ['C', 'NODEPORTS', 'VIPS', 'POSTROUTING', 'SERVICES']
  expect(declared).toEqual(wanted.map((chain) => `:NPROXY-${chain}`))
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
        for (const commit of slices(order, size)) {
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
