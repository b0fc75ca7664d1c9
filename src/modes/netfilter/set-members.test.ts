import { expect, test } from 'vitest'
import { membersOf } from '../../../test/support/modes/fake-ipvs-node.ts'
import { FakeSets } from '../../kernel/ipset/testing/fake-sets.ts'
import { PREFIX, SET_REFUSED, SETS } from '../ipvs/objects/names.ts'
import type { ObjectKey } from '../mode.ts'
import { ip } from '../testing/mode-fixtures.ts'
import { setKey } from './object-key.ts'
import { SetMembers } from './set-members.ts'

const key = (text: string) => text as ObjectKey
const all = SETS[4].kept.map(({ name }) => setKey(name))
const VIP = key('member/NPVS-4-VIPS/10.96.0.1')
const SHORT_CIRCUIT = key('member/NPVS-4-SHORTCUT/10.96.0.1,tcp:80')
const LEAVING = key('member/NPVS-4-LEAVING/10.96.0.1,tcp:80')
const setMembers = (sets: FakeSets) =>
  new SetMembers({ sets, prefix: PREFIX, kept: SETS[4].kept, code: SET_REFUSED })
const FOREIGN = { type: 'hash:ip', family: 4, maxElements: 10 } as const

async function made() {
  const kernel = new FakeSets()
  const sets = setMembers(kernel)
  expect(await sets.create(all)).toEqual(new Map())
  return { kernel, sets }
}

test('members are added, seen with their marks, and deleted', async () => {
  const { kernel, sets } = await made()
  await sets.add([VIP, SHORT_CIRCUIT], (member) => (member === SHORT_CIRCUIT ? 0xa5 : undefined))
  expect(await membersOf({ sets: kernel }, 'NPVS-4-SHORTCUT')).toEqual(['10.96.0.1,tcp:80 a5'])
  const seen = await sets.observe()
  expect([...seen].filter(([each]) => !each.startsWith('set/'))).toEqual([
    [VIP, 1],
    [SHORT_CIRCUIT, 0xa5],
  ])
  expect(sets.keys().toSorted()).toEqual([SHORT_CIRCUIT, VIP])
  await sets.delete([VIP, SHORT_CIRCUIT, VIP])
  expect(sets.keys()).toEqual([])
  expect(await membersOf({ sets: kernel }, 'NPVS-4-VIPS')).toEqual([])
})

test('a member is known by its mark, and the last mark counts', async () => {
  const { sets } = await made()
  const other = key('member/NPVS-4-SHORTCUT/10.96.0.2,tcp:80')
  await sets.add([SHORT_CIRCUIT], () => 1)
  await sets.add([SHORT_CIRCUIT, other], () => 2)
  expect(sets.keysIn('NPVS-4-SHORTCUT', 1)).toEqual([])
  expect(sets.keysIn('NPVS-4-SHORTCUT', 2)).toEqual([SHORT_CIRCUIT, other])
  expect((await sets.observe()).get(SHORT_CIRCUIT)).toBe(2)
})

test('observe() leaves out the members of the private set LEAVING', async () => {
  const { sets } = await made()
  await sets.add([LEAVING])
  const seen = await sets.observe()
  expect(seen.has(LEAVING)).toBe(false)
  expect(seen.has(key('set/NPVS-4-LEAVING'))).toBe(true)
  expect(sets.has('NPVS-4-LEAVING', '10.96.0.1,tcp:80')).toBe(true)
})

test('another reader sees the same, or only the sets that it requests', async () => {
  const { kernel, sets } = await made()
  await sets.add([VIP, SHORT_CIRCUIT, LEAVING], () => 7)
  const fresh = setMembers(kernel)
  const some = await fresh.observe([setKey('NPVS-4-VIPS')])
  expect(some.has(VIP)).toBe(true)
  expect(some.has(SHORT_CIRCUIT)).toBe(false)
  expect(await fresh.observe()).toEqual(await sets.observe())
  expect(fresh.has('NPVS-4-LEAVING', '10.96.0.1,tcp:80')).toBe(true)
})

test('a set of ours that was made otherwise shows, and a stray one too', async () => {
  const kernel = new FakeSets()
  await kernel.run([
    { do: 'create', name: 'NPVS-4-SERVICES', type: SETS[4].of('SERVICES').type },
    { do: 'create', name: 'NPVS-4-SHORTCUT', type: SETS[4].of('SERVICES').type },
    { do: 'create', name: 'NPVS-4-VIPS', type: SETS[4].of('ALLOWED').type },
    { do: 'create', name: 'NPVS-4-OLD', type: FOREIGN },
    { do: 'create', name: 'OTHER', type: FOREIGN },
  ])
  const seen = await setMembers(kernel).observe()
  expect(Object.fromEntries(seen)).toEqual({
    'set/NPVS-4-SERVICES': 1,
    'set/NPVS-4-SHORTCUT': 2,
    'set/NPVS-4-VIPS': 2,
    'set/NPVS-4-OLD': 2,
  })
})

test('refusals are returned by object, and what was refused is not known', async () => {
  const { kernel, sets } = await made()
  kernel.refuse((command) => command.do === 'add' && command.name === 'NPVS-4-VIPS')
  const failed = await sets.add([VIP, LEAVING])
  expect([...failed.keys()]).toEqual([VIP])
  expect(failed.get(VIP)).toEqual({
    code: 'NP_IPVS_SET_REFUSED',
    message: 'the kernel has no memory for it',
  })
  expect(sets.keys()).toEqual([LEAVING])
  kernel.refuse((command) => command.do === 'delete')
  expect([...(await sets.delete([LEAVING])).keys()]).toEqual([LEAVING])
  expect(sets.keys()).toEqual([LEAVING])
})

test('sets that another process filled, emptied or destroyed are disturbed', async () => {
  const { kernel, sets } = await made()
  await sets.add([VIP])
  expect(await sets.disturbed()).toEqual([])
  await kernel.run([
    { do: 'add', name: 'NPVS-4-DROP', member: { ip: ip('1.1.1.1'), protocol: 'TCP', port: 1 } },
    { do: 'flush', name: 'NPVS-4-VIPS' },
    { do: 'destroy', name: 'NPVS-4-REJECT' },
  ])
  expect((await sets.disturbed()).toSorted()).toEqual([
    'NPVS-4-DROP',
    'NPVS-4-REJECT',
    'NPVS-4-VIPS',
  ])
  expect((await sets.observe()).has(VIP)).toBe(false)
  expect(await sets.disturbed()).toEqual(['NPVS-4-REJECT'])
})

test('all of ours go, and nothing else; what rules name stays and is reported', async () => {
  const { kernel, sets } = await made()
  await kernel.run([{ do: 'create', name: 'OTHER', type: FOREIGN }])
  kernel.isUsed = (name) => name === 'NPVS-4-VIPS'
  await expect(sets.removeAll()).rejects.toThrow('in use by a kernel component')
  expect((await kernel.names('')).toSorted()).toEqual(['NPVS-4-VIPS', 'OTHER'])
  kernel.isUsed = () => false
  await sets.removeAll()
  expect(await kernel.names('')).toEqual(['OTHER'])
})
