import { expect, test } from 'vitest'
import { FakeIpset } from '../../kernel/ipset/fake-ipset.ts'
import type { ObjectKey } from '../mode.ts'
import { AffinitySets } from './affinity-sets.ts'
import { SET_DIGEST } from './set-key.ts'

const keys = ['set/NPROXY-A4-a', 'set/NPROXY-A4-b', 'set/NPROXY-A4-c'] as ObjectKey[]

function setUp() {
  const ipset = new FakeIpset()
  const options = 'hash:ip family inet hashsize 64 maxelem 262144 timeout 0'
  return { ipset, sets: new AffinitySets(ipset, () => options) }
}

test('a set that exists is kept with its clients', async () => {
  const { ipset, sets } = setUp()
  await sets.create(keys)
  await ipset.restore(['add NPROXY-A4-a 192.0.2.1 timeout 60'])
  expect(await sets.create(keys)).toEqual(new Map())
  expect(await ipset.members('NPROXY-A4-a')).toEqual(['192.0.2.1 timeout 60'])
})

test('a refused set comes back with the reason, the others are done', async () => {
  const { ipset, sets } = setUp()
  await ipset.restore(['create NPROXY-A4-b hash:net'])
  const failed = await sets.create(keys)
  expect([...failed].map(([key, { code }]) => [key, code])).toEqual([
    ['set/NPROXY-A4-b', 'NP_IPTABLES_SET'],
  ])
  ipset.isUsed = (name) => name.endsWith('c')
  const left = await sets.destroy(keys)
  expect([...left.keys()]).toEqual(['set/NPROXY-A4-c'])
  expect(await ipset.names('')).toEqual(['NPROXY-A4-c'])
})

test('nothing to do starts no program', async () => {
  const { ipset, sets } = setUp()
  ipset.restore = () => Promise.reject(new Error('not to be called'))
  expect(await sets.create([])).toEqual(new Map())
})

test('sets are told by name, foreign ones not', async () => {
  const { ipset, sets } = setUp()
  const names = ['NPROXY-A4-a', 'NPROXY-A4-y', 'OTHER']
  await ipset.restore(names.map((name) => `create ${name} hash:ip`))
  expect([...(await sets.observe()).keys()]).toEqual(['set/NPROXY-A4-a', 'set/NPROXY-A4-y'])
  expect(await sets.observe(keys)).toEqual(new Map([['set/NPROXY-A4-a', SET_DIGEST]]))
})

test('without ipset there are no sets, unless some were there before', async () => {
  const { ipset, sets } = setUp()
  const names = ipset.names.bind(ipset)
  const broken = () => Promise.reject(new Error('ipset: not found'))
  ipset.names = broken
  expect(await sets.observe()).toEqual(new Map())
  ipset.names = names
  await sets.create(keys)
  ipset.names = broken
  await expect(sets.observe()).rejects.toThrow('not found')
})
