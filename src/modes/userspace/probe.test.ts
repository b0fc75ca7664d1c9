import { expect, test } from 'vitest'
import { fakeUserspaceNode, redirected } from '../../../test/support/modes/fake-userspace-node.ts'
import { chainsOf } from '../netfilter/chains/base-rules.ts'
import { settings } from '../testing/mode-fixtures.ts'
import { baseRules } from './base-rules.ts'
import { trials } from './probe.ts'

const FOUR = redirected({ netfilter: settings({ families: [4] }) })

test('in a kernel that can do everything nothing is missing, and nothing is left in it', async () => {
  const { mode, kernel } = fakeUserspaceNode()
  expect(await mode.probe()).toEqual({
    missing: [],
    facts: {
      dataPath: 'native',
      workers: '2',
      listening: 'transparent',
      backend: 'legacy',
      iptables: '1.8.9',
    },
  })
  expect(await kernel.sets.names('')).toEqual([])
  expect(kernel.iptables.dump()).not.toContain('NPUS')
})

test.each([
  [/DNAT/, 'ports that are translated', 'xt_nat nf_nat'],
  [/CONNMARK/, 'marks of connections', 'xt_conntrack xt_connmark'],
  [/-m set/, 'rules that match sets', 'xt_set'],
])('without %s, %s is missing', async (pattern, what, modules) => {
  const { mode, kernel } = fakeUserspaceNode({ given: FOUR })
  kernel.iptables.refuse(pattern)
  const { missing } = await mode.probe()
  expect(missing).toEqual([
    {
      what: `IPv4 ${what}: refused by this kernel`,
      remedy: `load the kernel modules: modprobe -a ${modules}`,
    },
  ])
})

test('every extension that a rule uses is tried', () => {
  const words = (text: string) => text.match(/-[mj] [a-zA-Z]+/g) ?? []
  const tried = new Set(trials(settings(), 4).flatMap(({ rule }) => words(rule)))
  const used = chainsOf(baseRules(settings(), 4, { pods: 1, others: 2 })).flatMap(
    ({ rules }) => rules,
  )
  const untried = new Set(used.flatMap(words).filter((word) => !tried.has(word)))
  expect([...untried].filter((word) => !/-j (NPUS|DROP)/.test(word))).toEqual([
    // Tried for itself: the mode does without it.
    '-m socket',
    '-m mark',
    '-j ACCEPT',
  ])
})
