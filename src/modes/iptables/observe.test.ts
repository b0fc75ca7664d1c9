import { expect, test } from 'vitest'
import { FakeIpset } from '../../kernel/ipset/fake-ipset.ts'
import { FakeIptables } from '../../kernel/iptables/fake-iptables.ts'
import type { ObjectKey } from '../mode.ts'
import { digestCount, digestRules } from './object.ts'
import { observeObjects, observeSets, observeTable } from './observe.ts'

/** A kernel with rules of ours and of others, and how often it was asked. */
function kernel() {
  const ipset = new FakeIpset()
  const iptables = new FakeIptables({ sets: ipset })
  const asked: string[] = []
  const save = iptables.save.bind(iptables)
  iptables.save = (family, table, options) => {
    asked.push(`save ${family} ${table}`)
    return save(family, table, options)
  }
  const listChain = iptables.listChain.bind(iptables)
  iptables.listChain = (family, table, chain) => {
    asked.push(`list ${family} ${table} ${chain}`)
    return listChain(family, table, chain)
  }
  iptables.alter(
    4,
    `*nat
:NPROXY-SERVICES - [0:0]
:NPROXY-EMPTY - [0:0]
:FOREIGN - [0:0]
-A NPROXY-SERVICES -d 192.0.2.1/32 -j RETURN
-A NPROXY-SERVICES -j RETURN
-A FOREIGN -j NPROXY-SERVICES
-A PREROUTING -j FOREIGN
-A PREROUTING -j NPROXY-SERVICES
-A PREROUTING -j NPROXY-SERVICES
-A OUTPUT -p tcp -g NPROXY-SERVICES
COMMIT
`,
  )
  return { iptables, ipset, asked }
}

const key = (text: string) => text as ObjectKey
const services = digestRules(['-d 192.0.2.1/32 -j RETURN', '-j RETURN'])

test('of a table we see our chains and every jump to them from built-in chains', async () => {
  const { iptables } = kernel()
  expect(await observeTable(iptables, 4, 'nat')).toEqual(
    new Map([
      ['4/nat/NPROXY-SERVICES', services],
      ['4/nat/NPROXY-EMPTY', digestRules([])],
      ['4/nat/PREROUTING>-j NPROXY-SERVICES', digestCount(2)],
      ['4/nat/OUTPUT>-p tcp -g NPROXY-SERVICES', digestCount(1)],
    ]),
  )
})

test('single objects are asked for one by one; what is not there is absent', async () => {
  const node = kernel()
  const keys = ['4/nat/NPROXY-SERVICES', '4/nat/NPROXY-GONE', '6/nat/NPROXY-SERVICES'].map(key)
  expect(await observeObjects(node, keys)).toEqual(new Map([['4/nat/NPROXY-SERVICES', services]]))
  expect(node.asked).toEqual([
    'list 4 nat NPROXY-SERVICES',
    'list 4 nat NPROXY-GONE',
    'list 6 nat NPROXY-SERVICES',
  ])
})

test('a built-in chain is asked once and shows all our jumps', async () => {
  const node = kernel()
  const jumps = ['-j NPROXY-SERVICES', '-j NPROXY-OTHER'].map((rule) =>
    key(`4/nat/PREROUTING>${rule}`),
  )
  expect(await observeObjects(node, jumps)).toEqual(
    new Map([['4/nat/PREROUTING>-j NPROXY-SERVICES', digestCount(2)]]),
  )
  expect(node.asked).toEqual(['list 4 nat PREROUTING'])
})

test('many chains are read with their table, and no others are told', async () => {
  const node = kernel()
  const gone = Array.from({ length: 300 }, (_, n) => key(`4/nat/NPROXY-C-${n}`))
  const seen = await observeObjects(node, [...gone, key('4/nat/NPROXY-SERVICES')])
  expect(seen).toEqual(new Map([['4/nat/NPROXY-SERVICES', services]]))
  expect(node.asked).toEqual(['save 4 nat'])
})

test('sets are told by name, foreign ones not', async () => {
  const node = kernel()
  const names = ['NPROXY-A4-x', 'NPROXY-A4-y', 'OTHER']
  await node.ipset.restore(names.map((name) => `create ${name} hash:ip`))
  expect([...(await observeSets(node.ipset)).keys()]).toEqual([
    'set/NPROXY-A4-x',
    'set/NPROXY-A4-y',
  ])
  const known = new Map([['set/NPROXY-A4-x', digestCount(1)]])
  const asked = ['set/NPROXY-A4-x', 'set/NPROXY-A4-gone'].map(key)
  expect(await observeObjects(node, asked)).toEqual(known)
  expect(node.asked).toEqual([])
})
