import { expect, test } from 'vitest'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import { detectExtensions } from '../netfilter/trial.ts'
import { settings } from '../testing/mode-fixtures.ts'
import { probeIptables } from './probe.ts'

const EVERYTHING = {
  hairpin: 'bpf',
  randomFully: true,
  matchesSockets: true,
  searchesPortsInOrder: false,
} as const

test('in a kernel that can do everything nothing is missing, and nothing is left in it', async () => {
  const iptables = new FakeIptables()
  const before = iptables.dump()
  const { missing, facts } = await probeIptables({ iptables }, settings())
  expect(missing).toEqual([])
  expect(facts).toEqual({ backend: 'nft', version: '1.8.9', masqueradePorts: 'random' })
  expect(iptables.dump().replaceAll(/# .*\n|:[A-Z]+ ACCEPT\n/g, '')).toBe(before.trim())
})

test('what is missing is named with its family and the command that brings it', async () => {
  const iptables = new FakeIptables()
  iptables.refuse(/statistic.*\[::1\]/)
  const { missing } = await probeIptables({ iptables }, settings())
  expect(missing).toEqual([
    {
      what: 'IPv6 DNAT by random choice: refused by this kernel',
      remedy: 'load the kernel modules: modprobe -a xt_statistic xt_nat',
    },
  ])
})

test('a lock that another process holds says nothing about the kernel', async () => {
  const iptables = new FakeIptables()
  iptables.failNext({ kind: 'locked' }, 100)
  expect((await probeIptables({ iptables }, settings())).missing).toEqual([])
  expect(await detectExtensions(iptables, '5.0.0')).toEqual(EVERYTHING)
})

test.each([
  [/bytecode/, { ...EVERYTHING, hairpin: 'rules' }],
  [/random-fully/, { ...EVERYTHING, randomFully: false }],
  [/-m socket/, { ...EVERYTHING, matchesSockets: false }],
])('without %s', async (pattern, expected) => {
  const iptables = new FakeIptables()
  iptables.refuse(pattern)
  expect(await detectExtensions(iptables, '5.0.0')).toEqual(expected)
})

test.each([
  ['4.20.17', true],
  ['4.9.0-13-amd64', true],
  ['5.0.0', false],
  ['6.18.44', false],
])('Linux %s searches for free ports in order: %s', async (release, searchesPortsInOrder) => {
  const extensions = await detectExtensions(new FakeIptables(), release)
  expect(extensions).toEqual({ ...EVERYTHING, searchesPortsInOrder })
})
