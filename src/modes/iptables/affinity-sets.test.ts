import { expect, test } from 'vitest'
import type { SetCommand, SetType } from '../../kernel/ipset/sets.ts'
import { FakeSets } from '../../kernel/ipset/testing/fake-sets.ts'
import type { ObjectKey } from '../mode.ts'
import { PRESENT } from '../netfilter/object-key.ts'
import { ip } from '../testing/mode-fixtures.ts'
import { AffinitySets } from './mode.ts'

const keys = ['set/NPROXY-A4-a', 'set/NPROXY-A4-b', 'set/NPROXY-A4-c'] as ObjectKey[]
const type: SetType = {
  type: 'hash:ip',
  family: 4,
  maxElements: 262_144,
  hashSize: 64,
  timeout: 0,
}
const create = (name: string, how = type): SetCommand => ({ do: 'create', name, type: how })

function setUp() {
  const kernel = new FakeSets()
  return { kernel, sets: new AffinitySets(kernel, () => type) }
}

test('a set that exists is kept with its clients', async () => {
  const { kernel, sets } = setUp()
  await sets.create(keys)
  const member = { ip: ip('192.0.2.1'), timeout: 60 }
  await kernel.run([{ do: 'add', name: 'NPROXY-A4-a', member }])
  expect(await sets.create(keys)).toEqual(new Map())
  expect(await kernel.members('NPROXY-A4-a')).toEqual([member])
})

test('a refused set comes back with the reason, the others are done', async () => {
  const { kernel, sets } = setUp()
  await kernel.run([create('NPROXY-A4-b', { ...type, type: 'hash:ip,port' })])
  const failed = await sets.create(keys)
  expect([...failed].map(([key, { code }]) => [key, code])).toEqual([
    ['set/NPROXY-A4-b', 'NP_IPTABLES_SET'],
  ])
  kernel.isUsed = (name) => name.endsWith('c')
  const left = await sets.destroy(keys)
  expect([...left.keys()]).toEqual(['set/NPROXY-A4-c'])
  expect(await kernel.names('')).toEqual(['NPROXY-A4-c'])
})

test('nothing to do runs no command', async () => {
  const { kernel, sets } = setUp()
  kernel.run = () => Promise.reject(new Error('not to be called'))
  expect(await sets.create([])).toEqual(new Map())
  expect(await new AffinitySets(kernel, () => undefined).create(keys)).toEqual(new Map())
})

test('our sets are found by name, foreign ones are not', async () => {
  const { kernel, sets } = setUp()
  await kernel.run(['NPROXY-A4-a', 'NPROXY-A4-y', 'OTHER'].map((name) => create(name)))
  expect([...(await sets.observe()).keys()]).toEqual(['set/NPROXY-A4-a', 'set/NPROXY-A4-y'])
  expect(await sets.observe(keys)).toEqual(new Map([['set/NPROXY-A4-a', PRESENT]]))
})

test('without IP sets there are none, unless some were there before', async () => {
  const { kernel, sets } = setUp()
  const names = kernel.names.bind(kernel)
  const broken = () => Promise.reject(new Error('no ip_set'))
  kernel.names = broken
  expect(await sets.observe()).toEqual(new Map())
  kernel.names = names
  await sets.create(keys)
  kernel.names = broken
  await expect(sets.observe()).rejects.toThrow('no ip_set')
})
