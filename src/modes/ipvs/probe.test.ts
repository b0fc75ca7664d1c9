import { expect, test } from 'vitest'
import {
  type FakeKernel,
  fakeIpvsNode,
  fakeKernel,
  foreignAt,
  ipvsSettings,
  serversOf,
  stateOf,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { chainsOf } from '../netfilter/chains/base-rules.ts'
import { settings } from '../testing/mode-fixtures.ts'
import { baseRules } from './base-rules.ts'
import { markPattern } from './objects/short-circuit-mark.ts'
import { probeIpvs, trials } from './probe.ts'

const probe = (kernel: FakeKernel, given = ipvsSettings()) => probeIpvs(kernel, given)
const NO_IPVS = new NodeProxyError('NP_KERNEL_IPVS_MISSING', 'this kernel has no ip_vs')

test('a kernel that can do everything lacks nothing, and keeps nothing of it', async () => {
  const kernel = fakeKernel()
  for (const table of ['mangle', 'nat', 'filter'] as const) {
    for (const family of [4, 6] as const) await kernel.iptables.save(family, table)
  }
  const before = await stateOf(kernel)
  expect(await probe(kernel)).toEqual({
    missing: [],
    facts: {
      backend: 'legacy',
      iptables: '1.8.9',
      ipvs: '1.2.1',
      connectionTableSize: '4096',
      masqueradePorts: 'random',
    },
  })
  expect(await stateOf(kernel)).toEqual(before)
})

test('without ip_vs, that is missing, and nothing else', async () => {
  const kernel = fakeKernel()
  kernel.ipvs.failure = NO_IPVS
  expect((await probe(kernel)).missing).toEqual([
    {
      what: 'IP virtual servers: this kernel has no ip_vs',
      remedy: 'load the kernel module: modprobe ip_vs',
    },
  ])
  expect(await kernel.sets.names('')).toEqual([])
})

test('the scheduler that the configuration names', async () => {
  const kernel = fakeKernel({ schedulers: ['rr'] })
  expect((await probe(kernel)).missing).toEqual([])
  const { missing } = await probe(kernel, ipvsSettings({ scheduler: 'wlc' }))
  expect(missing).toHaveLength(1)
  expect(missing[0]?.what).toContain('IPVS scheduler wlc')
  expect(missing[0]?.remedy).toBe(
    'load the kernel module: modprobe ip_vs_wlc; or set ipvs.scheduler to another one',
  )
  expect(await serversOf(kernel)).toEqual({})
})

test('a virtual server that has the mark of the trial stays', async () => {
  const kernel = fakeKernel()
  await kernel.ipvs.run(foreignAt({ family: 4, mark: markPattern(settings()).value }))
  const before = await serversOf(kernel)
  expect((await probe(kernel)).missing).toEqual([])
  expect(await serversOf(kernel)).toEqual(before)
})

test('types of sets, in each family', async () => {
  const kernel = fakeKernel()
  kernel.sets.refuse(
    (command) => command.do === 'create' && command.type.type === 'hash:ip,port,net',
    4098,
  )
  const { missing } = await probe(kernel, ipvsSettings({ netfilter: settings({ families: [6] }) }))
  expect(missing).toEqual([
    {
      what: 'IPv6 sets of type hash:ip,port,net: the kernel has no set type hash:ip,port,net for IPv6: modprobe ip_set_hash_ipportnet',
      remedy: 'load the kernel module: modprobe ip_set_hash_ipportnet',
    },
  ])
  expect(await kernel.sets.names('')).toEqual([])
})

test('a kernel whose sets cannot be read', async () => {
  const kernel = fakeKernel()
  kernel.sets.run = async () => {
    throw new NodeProxyError('NP_KERNEL_IPSET', 'no netfilter netlink')
  }
  const { missing } = await probe(kernel)
  expect(missing.map(({ what }) => what)).toEqual([
    'IPv4 sets of addresses: no netfilter netlink',
    'IPv6 sets of addresses: no netfilter netlink',
  ])
})

test.each([
  [/--match-set/, 'rules that match sets', 'xt_set'],
  [/--map-set/, 'marks from sets', 'xt_set'],
  [/--src-type/, 'packet marks', 'xt_addrtype xt_mark'],
  [/--bytecode/, 'recognition of pods that reach themselves', 'xt_bpf xt_MASQUERADE'],
  [/--ctstate/, 'connection states', 'xt_conntrack ipt_REJECT'],
])('kinds of rules: %s', async (pattern, what, modules) => {
  const kernel = fakeKernel()
  kernel.iptables.refuse(pattern)
  const given = ipvsSettings({ netfilter: settings({ families: [4] }) })
  expect((await probe(kernel, given)).missing).toEqual([
    {
      what: `IPv4 ${what}: refused by this kernel`,
      remedy: `load the kernel modules: modprobe -a ${modules}`,
    },
  ])
  expect(await kernel.sets.names('')).toEqual([])
})

test('a lock that another process holds proves nothing about the kernel', async () => {
  const kernel = fakeKernel()
  kernel.iptables.failNext({ kind: 'locked' }, 100)
  expect((await probe(kernel)).missing).toEqual([])
})

test('the trials know every match and target that the rules use', () => {
  const extensions = (rules: readonly string[]) =>
    new Set(rules.flatMap((rule) => rule.match(/-m \w+|-j [A-Z]+/g) ?? []))
  const tried = extensions(trials(settings(), 4).map(({ rule }) => rule))
  const used = extensions(chainsOf(baseRules(settings(), 4)).flatMap(({ rules }) => rules))
  const untold = ['-j DROP', '-j ACCEPT', '-m tcp', '-m mark']
  expect([...used].filter((each) => !tried.has(each) && !untold.includes(each))).toEqual([])
})

test('what a probe that was killed left is removed with the first change', async () => {
  const kernel = fakeKernel()
  const { sets } = kernel
  const run = sets.run.bind(sets)
  sets.run = async (commands) => {
    if (commands.some((command) => command.do === 'destroy')) throw new Error('killed')
    return run(commands)
  }
  await probe(kernel)
  sets.run = run
  expect(await sets.names('NPVS-PROBE')).not.toEqual([])
  const { look, sync } = fakeIpvsNode(kernel)
  await look()
  await sync()
  expect(await sets.names('NPVS-PROBE')).toEqual([])
})
