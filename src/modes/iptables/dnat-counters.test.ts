import { expect, test } from 'vitest'
import { fakeNode, serviceAt } from '../../../test/support/modes/fake-node.ts'
import type { ServiceKey } from '../../forwarding/entry.ts'
import type { CountedRule } from '../../kernel/iptables/iptables.ts'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import { backend, frontend, ip } from '../testing/mode-fixtures.ts'

const KEY = 'shop/a' as ServiceKey
const pods = (...addresses: string[]) => ({
  pools: { cluster: addresses.map((address) => backend(address)), local: [] },
})
const a = (...addresses: string[]) =>
  serviceAt('a', '172.30.0.1', { service: KEY, ...pods(...addresses) })
const b = (...addresses: string[]) =>
  serviceAt('b', '172.30.0.2', { service: 'shop/b' as ServiceKey, ...pods(...addresses) })

function rig() {
  const node = fakeNode()
  /** The connections of shop/a, and of each of its backends. */
  const read = async () => {
    const { totals, backends } = await node.mode.readTraffic(() => true)
    const each = (backends.get(KEY) ?? []).map((one) => [one.ip, one.connections] as const)
    return { total: totals.get(KEY), ...Object.fromEntries(each) }
  }
  return { ...node, read }
}

test('connections by backend, those without any too, and nothing that is not counted', async () => {
  const { iptables, sync, read } = rig()
  await sync(a('10.0.0.1', '10.0.0.2'), b('10.0.0.1'))
  iptables.pass(/NPROXY-C-.*random.*DNAT --to-destination 10\.0\.0\.1:/, 3)
  expect(await read()).toEqual({ total: { connections: 3 }, '10.0.0.1': 3, '10.0.0.2': 0 })
})

test('the rules of a sticky Service, and of its local pool, are summed', async () => {
  const { iptables, sync, read } = rig()
  const pools = { cluster: [backend('10.0.0.1')], local: [backend('10.0.0.1')] }
  const frontends = [
    frontend({ ip: ip('172.30.0.1') }),
    frontend({ ip: ip('172.30.0.3'), pool: 'local' }),
  ]
  await sync(
    serviceAt('a', '172.30.0.1', { service: KEY, pools, frontends, affinity: { seconds: 60 } }),
  )
  iptables.pass(/DNAT --to-destination 10\.0\.0\.1:/, 1)
  const rules = iptables.dump().match(/DNAT --to-destination/g)?.length ?? 0
  expect(rules).toBeGreaterThan(3)
  expect(await read()).toEqual({ total: { connections: rules }, '10.0.0.1': rules })
})

test('a chain that is written again goes on where it was at the last reading', async () => {
  const { iptables, sync, read } = rig()
  await sync(a('10.0.0.1', '10.0.0.2'), b('10.0.0.9'))
  iptables.pass(/DNAT --to-destination/, 10)
  await read()
  await sync(a('10.0.0.1', '10.0.0.3'), b('10.0.0.9'))
  expect(await read()).toEqual({ total: { connections: 20 }, '10.0.0.1': 10, '10.0.0.3': 0 })
  iptables.pass(/DNAT --to-destination 10\.0\.0\.1/, 15)
  await sync(a('10.0.0.1', '10.0.0.3', '10.0.0.4'), b('10.0.0.9'))
  iptables.pass(/DNAT --to-destination 10\.0\.0\.1/, 12)
  // 15 came and went between two readings.
  expect(await read()).toMatchObject({ total: { connections: 32 }, '10.0.0.1': 22 })
})

test('a chain that another program emptied, too; one that the kernel refuses is as before', async () => {
  const { iptables, sync, read } = rig()
  await sync(a('10.0.0.1'))
  iptables.pass(/DNAT --to-destination/, 10)
  await read()
  const [chain] = /NPROXY-C-\S+/.exec(iptables.dump()) ?? []
  iptables.alter(4, `*nat\n-F ${chain}\nCOMMIT\n`)
  expect(await read()).toEqual({ total: { connections: 10 }, '10.0.0.1': 10 })
  const again = rig()
  await again.sync(a('10.0.0.1'))
  again.iptables.pass(/DNAT --to-destination/, 10)
  await again.read()
  again.iptables.failNext({ kind: 'locked' })
  await again.sync(a('10.0.0.1', '10.0.0.2'))
  expect(await again.read()).toMatchObject({ total: { connections: 10 }, '10.0.0.1': 10 })
})

test('a list that was begun before a chain was written is not taken for what the new chain counted', async () => {
  const iptables = new FakeIptables()
  const listed = { next: Promise.resolve() }
  const list: FakeIptables['counters'] = iptables.counters.bind(iptables)
  iptables.counters = async (family, table, visit) => {
    const found: CountedRule[] = []
    await list(family, table, (one) => found.push(one))
    await listed.next
    for (const one of found) visit(one)
  }
  const { mode, sync } = fakeNode({ iptables })
  await sync(a('10.0.0.1'))
  iptables.pass(/DNAT --to-destination/, 10)
  await mode.readTraffic()
  const { promise, resolve } = Promise.withResolvers<void>()
  listed.next = promise
  const reading = mode.readTraffic()
  await sync(a('10.0.0.1', '10.0.0.2'))
  resolve()
  expect((await reading).totals.get(KEY)).toEqual({ connections: 10 })
  iptables.pass(/DNAT --to-destination 10\.0\.0\.2/, 1)
  expect((await mode.readTraffic()).totals.get(KEY)).toEqual({ connections: 11 })
})

test('a Service that is gone counts nothing, and begins at 0 when it comes back', async () => {
  const { iptables, sync, remove, read } = rig()
  await sync(a('10.0.0.1'))
  iptables.pass(/DNAT --to-destination/, 10)
  await read()
  await remove('a')
  expect(await read()).toEqual({ total: undefined })
  await sync(a('10.0.0.1'))
  expect(await read()).toEqual({ total: undefined, '10.0.0.1': 0 })
})
