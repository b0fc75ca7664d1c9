import { expect, test } from 'vitest'
import { FakeIpset } from '../../kernel/ipset/fake-ipset.ts'
import type { ObjectKey } from '../mode.ts'
import { createSets, destroySets } from './affinity-sets.ts'

const keys = ['set/NPROXY-A4-a', 'set/NPROXY-A4-b', 'set/NPROXY-A4-c'] as ObjectKey[]
const optionsOf = () => 'hash:ip family inet hashsize 64 maxelem 262144 timeout 0'

test('a set that exists is kept with its clients', async () => {
  const ipset = new FakeIpset()
  await createSets(ipset, keys, optionsOf)
  await ipset.restore(['add NPROXY-A4-a 192.0.2.1 timeout 60'])
  expect(await createSets(ipset, keys, optionsOf)).toEqual(new Map())
  expect(await ipset.members('NPROXY-A4-a')).toEqual(['192.0.2.1 timeout 60'])
})

test('a refused set comes back with the reason, the others are done', async () => {
  const ipset = new FakeIpset()
  await ipset.restore(['create NPROXY-A4-b hash:net'])
  const failed = await createSets(ipset, keys, optionsOf)
  expect([...failed].map(([key, { code }]) => [key, code])).toEqual([
    ['set/NPROXY-A4-b', 'NP_IPTABLES_SET'],
  ])
  ipset.isUsed = (name) => name.endsWith('c')
  const left = await destroySets(ipset, keys)
  expect([...left.keys()]).toEqual(['set/NPROXY-A4-c'])
  expect(await ipset.names('')).toEqual(['NPROXY-A4-c'])
})

test('nothing to do starts no program', async () => {
  const ipset = new FakeIpset()
  ipset.restore = () => Promise.reject(new Error('not to be called'))
  expect(await createSets(ipset, [], optionsOf)).toEqual(new Map())
})
