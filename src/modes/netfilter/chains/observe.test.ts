import { expect, test } from 'vitest'
import { FakeIptables } from '../../../kernel/iptables/testing/fake-iptables.ts'
import type { ObjectKey } from '../../mode.ts'
import { digestCount, digestRules } from './object.ts'
import { observeObjects, observeTable } from './observe.ts'

/** A kernel with rules of ours and of others, and the queries that it got. */
function kernel() {
  const iptables = new FakeIptables()
  const queries: string[] = []
  const save = iptables.save.bind(iptables)
  iptables.save = (family, table, options) => {
    queries.push(`save ${family} ${table}`)
    return save(family, table, options)
  }
  const listChain = iptables.listChain.bind(iptables)
  iptables.listChain = (family, table, chain) => {
    queries.push(`list ${family} ${table} ${chain}`)
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
  return { iptables, queries, prefix: 'NPROXY-' }
}

const key = (text: string) => text as ObjectKey
const services = digestRules(['-d 192.0.2.1/32 -j RETURN', '-j RETURN'])

test('of a table we see our chains and every jump to them from built-in chains', async () => {
  expect(await observeTable(kernel(), 4, 'nat')).toEqual(
    new Map([
      ['4/nat/NPROXY-SERVICES', services],
      ['4/nat/NPROXY-EMPTY', digestRules([])],
      ['4/nat/PREROUTING>-j NPROXY-SERVICES', digestCount(2)],
      ['4/nat/OUTPUT>-p tcp -g NPROXY-SERVICES', digestCount(1)],
    ]),
  )
})

test('single objects are queried one by one; what is not there is absent', async () => {
  const node = kernel()
  const keys = ['4/nat/NPROXY-SERVICES', '4/nat/NPROXY-GONE', '6/nat/NPROXY-SERVICES'].map(key)
  expect(await observeObjects(node, keys)).toEqual(new Map([['4/nat/NPROXY-SERVICES', services]]))
  expect(node.queries).toEqual([
    'list 4 nat NPROXY-SERVICES',
    'list 4 nat NPROXY-GONE',
    'list 6 nat NPROXY-SERVICES',
  ])
})

test('a built-in chain is queried once and shows all our jumps', async () => {
  const node = kernel()
  const jumps = ['-j NPROXY-SERVICES', '-j NPROXY-OTHER'].map((rule) =>
    key(`4/nat/PREROUTING>${rule}`),
  )
  expect(await observeObjects(node, jumps)).toEqual(
    new Map([['4/nat/PREROUTING>-j NPROXY-SERVICES', digestCount(2)]]),
  )
  expect(node.queries).toEqual(['list 4 nat PREROUTING'])
})

test('many chains are read with their table, and no others are returned', async () => {
  const node = kernel()
  const gone = Array.from({ length: 300 }, (_, n) => key(`4/nat/NPROXY-C-${n}`))
  const seen = await observeObjects(node, [...gone, key('4/nat/NPROXY-SERVICES')])
  expect(seen).toEqual(new Map([['4/nat/NPROXY-SERVICES', services]]))
  expect(node.queries).toEqual(['save 4 nat'])
})

test('with another prefix there is nothing of ours', async () => {
  const node = { ...kernel(), prefix: 'NPVS-' }
  expect(await observeTable(node, 4, 'nat')).toEqual(new Map())
  const keys = ['4/nat/NPVS-SERVICES', '4/nat/PREROUTING>-j NPVS-SERVICES'].map(key)
  expect(await observeObjects(node, keys)).toEqual(new Map())
})

test.each([
  ['mangle', ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING']],
  ['filter', ['INPUT', 'FORWARD', 'OUTPUT']],
] as const)('jumps are seen in every built-in chain of %s', async (table, chains) => {
  const { iptables, prefix } = kernel()
  const jumps = chains.map((chain) => `-A ${chain} -j NPROXY-X\n`).join('')
  iptables.alter(6, `*${table}\n:NPROXY-X - [0:0]\n${jumps}COMMIT\n`)
  const seen = [...(await observeTable({ iptables, prefix }, 6, table)).keys()]
  const wanted = chains.map((chain) => `6/${table}/${chain}>-j NPROXY-X`)
  expect(seen.toSorted()).toEqual([`6/${table}/NPROXY-X`, ...wanted].toSorted())
})
