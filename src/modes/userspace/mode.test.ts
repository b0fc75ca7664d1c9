import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  fakeRedirectKernel,
  fakeUserspaceNode,
  redirected,
} from '../../../test/support/modes/fake-userspace-node.ts'
import type { EntryId } from '../../forwarding/entry.ts'
import { memberText } from '../../kernel/ipset/sets.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ForeignChange, ObjectKey } from '../mode.ts'
import { backend, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { ForwarderState } from './forwarder-state.ts'
import { UserspaceMode } from './mode.ts'
import { FakeForwarder } from './testing/fake-forwarder.ts'

const at = (name: string, address: string, pods = ['10.180.0.1']) =>
  entry({
    id: name as EntryId,
    frontends: [frontend({ ip: ip(address) })],
    pools: { cluster: pods.map((pod) => backend(pod)), local: [] },
  })
type Node = ReturnType<typeof fakeUserspaceNode>
const codesOf = ({ failed }: Awaited<ReturnType<Node['sync']>>) =>
  Object.fromEntries([...failed].map(([key, { code }]) => [key, code]))

async function membersOf({ kernel }: Pick<Node, 'kernel'>, name: string) {
  return (await kernel.sets.members(name))?.map(memberText).toSorted()
}

test('what was written is what is observed', async () => {
  const netfilter = settings({ localhostNodePorts: true, dropMartians: true })
  const node = fakeUserspaceNode({ given: redirected({ netfilter }) })
  const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080 })
  const { failed } = await node.sync(
    at('a', '172.30.0.1'),
    at('b', '172.30.0.2', []),
    entry({ id: 'c' as EntryId, frontends: [nodePort], healthCheckPort: 32_000 }),
  )
  expect(failed).toEqual(new Map())
  expect(node.tracker.isSettled).toBe(true)
  expect(await node.look()).toEqual([])
  expect(node.kernel.iptables.dump()).toContain('-A PREROUTING -j NPUS-ROUTE')
  expect(await node.kernel.routes.list()).toHaveLength(2)
  expect([...node.forwarder.routes.keys()]).toEqual(['a', 'b', 'c'])
})

test('some objects, read by key, are as they are', async () => {
  const { mode, sync } = fakeUserspaceNode()
  await sync(at('a', '172.30.0.1'), at('b', '172.30.0.2'))
  const all = await mode.observe()
  const keys = [
    'entry/a',
    'member/NPUS-4-SERVICES/172.30.0.1,tcp:80',
    'route/4',
    'set/NPUS-4-DROP',
    '4/mangle/NPUS-DIVERT',
  ] as ObjectKey[]
  const some = await mode.observe(keys)
  expect([...some.keys()].toSorted()).toEqual(keys.toSorted())
  for (const key of keys) expect(some.get(key)).toBe(all.get(key))
  expect(await mode.observe([])).toEqual(new Map())
})

test('one changed backend costs one route to the forwarder, and nothing in the kernel', async () => {
  const { sync, kernel, forwarder } = fakeUserspaceNode()
  await sync(...Array.from({ length: 50 }, (_, n) => at(`s${n}`, `172.30.1.${n}`)))
  forwarder.applied.length = 0
  kernel.iptables.texts.length = 0
  let commands = 0
  const run = kernel.sets.run.bind(kernel.sets)
  kernel.sets.run = (all) => {
    commands += all.length
    return run(all)
  }
  await sync(at('s7', '172.30.1.7', ['10.180.0.9']))
  expect(forwarder.applied).toEqual([['s7']])
  expect([kernel.iptables.texts, commands]).toEqual([[], 0])
})

test('packets are led here after the forwarder has the route, and no longer before it loses the route', async () => {
  const { sync, remove, mode, kernel, forwarder } = fakeUserspaceNode()
  const order: string[] = []
  const { sets, iptables, routes } = kernel
  const [run, restore] = [sets.run.bind(sets), iptables.restore.bind(iptables)]
  const [ensure, apply] = [routes.ensure.bind(routes), forwarder.apply.bind(forwarder)]
  sets.run = (commands) => {
    order.push(...commands.map((command) => `${command.do} ${command.name.slice(7)}`))
    return run(commands)
  }
  iptables.restore = (...args) => {
    order.push('rules')
    return restore(...args)
  }
  routes.ensure = (route) => {
    order.push('route')
    return ensure(route)
  }
  forwarder.apply = (changes) => {
    order.push('forwarder')
    return apply(changes)
  }
  const steps = () =>
    order
      .splice(0)
      .filter((step, index, all) => step !== all[index - 1] && !step.startsWith('create'))
  await sync(at('a', '172.30.0.1', []))
  expect(steps()).toEqual(['forwarder', 'add REJECT', 'route', 'rules', 'add SERVICES'])
  await remove('a')
  expect(steps()).toEqual(['delete SERVICES', 'forwarder', 'delete REJECT'])
  await mode.cleanup()
  expect(steps().slice(0, 2)).toEqual(['rules', 'destroy ALLOWED'])
})

test('a Service takes over the address of one that goes, in one step', async () => {
  const { sync, mode, write, forwarder } = fakeUserspaceNode()
  await sync(at('a', '172.30.0.1'))
  mode.program.replace('a' as EntryId, undefined)
  mode.program.replace('b' as EntryId, at('b', '172.30.0.1'))
  expect((await write()).failed).toEqual(new Map())
  expect([...forwarder.routes.keys()]).toEqual(['b'])
})

test('a fresh daemon adopts what is in the kernel, and removes what is stale', async () => {
  const before = fakeUserspaceNode()
  await before.sync(at('a', '172.30.0.1'), at('gone', '172.30.0.9'))
  const { kernel } = before
  kernel.iptables.texts.length = 0
  const fresh = fakeUserspaceNode({ kernel })
  fresh.mode.program.replace('a' as EntryId, at('a', '172.30.0.1'))
  await fresh.look()
  await fresh.write()
  expect(kernel.iptables.texts).toEqual([])
  expect(await membersOf(fresh, 'NPUS-4-SERVICES')).toEqual(['172.30.0.1,tcp:80'])
  expect([...fresh.forwarder.routes.keys()]).toEqual(['a'])
  expect(await fresh.look()).toEqual([])
})

test('a mode that is made again for other settings takes away what its forwarder has too much', async () => {
  const { sync, kernel, forwarderState, forwarder } = fakeUserspaceNode()
  await sync(at('a', '172.30.0.1'), at('gone', '172.30.0.9'))
  const again = new UserspaceMode(redirected({ nodeAddresses: [] }), { kernel, forwarderState })
  again.program.replace('a' as EntryId, at('a', '172.30.0.1'))
  const wanted = new Set(again.program.takeChanges().keys())
  const unset = [...(await again.observe()).keys()].filter((key) => !wanted.has(key))
  await again.apply({ set: [], unset })
  expect([...forwarder.routes.keys()]).toEqual(['a'])
})

test('refusals of the forwarder, the sets, the routes and the rules hold up nothing else', async () => {
  const node = fakeUserspaceNode()
  const { kernel, forwarder } = node
  forwarder.taken.add('TCP 172.30.0.1 80')
  kernel.routes.refusal = new NodeProxyError('NP_KERNEL_ROUTE', 'ip rule: EACCES')
  const soften = kernel.sets.refuse(
    (command) => command.do === 'add' && command.name.endsWith('-REJECT'),
  )
  const heal = kernel.iptables.refuse(/ICMP|icmp/)
  const result = await node.sync(at('a', '172.30.0.1'), at('b', '172.30.0.2', []))
  expect(codesOf(result)).toEqual({
    'entry/a': 'NP_USERSPACE_LISTEN',
    'route/4': 'NP_KERNEL_ROUTE',
    'route/6': 'NP_KERNEL_ROUTE',
    'member/NPUS-4-REJECT/172.30.0.2,tcp:80': 'NP_USERSPACE_SET_REFUSED',
    '4/filter/NPUS-FILTER': 'NP_IPTABLES_REFUSED',
    '6/filter/NPUS-FILTER': 'NP_IPTABLES_REFUSED',
  })
  expect([...forwarder.routes.keys()]).toEqual(['b'])
  expect(kernel.iptables.dump()).toContain('-A NPUS-TAKE')
  forwarder.taken.clear()
  kernel.routes.refusal = undefined
  soften()
  heal()
  await node.retry()
  expect(node.tracker.isSettled).toBe(true)
  expect(await node.look()).toEqual([])
})

test('a route of which one listener was refused goes with its Service', async () => {
  const node = fakeUserspaceNode()
  const { forwarder } = node
  forwarder.taken.add('TCP 172.30.0.1 80')
  const frontends = ['172.30.0.1', '172.30.0.2'].map((address) => frontend({ ip: ip(address) }))
  const { failed } = await node.sync(entry({ id: 'a' as EntryId, frontends }))
  expect([[...failed.keys()], [...forwarder.routes.keys()]]).toEqual([['entry/a'], ['a']])
  await node.remove('a')
  expect(forwarder.routes.size).toBe(0)
  expect(await node.look()).toEqual([])
})

test('with another masquerade bit the routes for the former one go', async () => {
  const { sync, kernel } = fakeUserspaceNode()
  await sync()
  const given = redirected({ netfilter: settings({ masqueradeBit: 13 }) })
  const after = fakeUserspaceNode({ kernel, given })
  await after.look()
  await after.sync()
  expect((await kernel.routes.list()).map(({ mark }) => mark)).toEqual([0x1000, 0x1000])
  expect(await after.look()).toEqual([])
})

/** A node that is watched, and the foreign changes that it reports. */
async function watched() {
  const node = fakeUserspaceNode()
  const reported: ForeignChange[] = []
  await node.sync(at('a', '172.30.0.1'))
  const stop = node.mode.watch((change) => reported.push(change))
  const wait = async (seconds: number) => {
    await setImmediate()
    for (let second = 0; second < seconds; second++) {
      await node.kernel.clock.advance(1_000)
      await setImmediate()
    }
  }
  return { ...node, stop, wait, rounds: () => reported.splice(0) }
}

test('sets that others change are noticed, a member that was exchanged in its turn', async () => {
  const { kernel, wait, rounds, sync, stop } = await watched()
  await wait(20)
  expect(rounds()).toEqual([])
  const name = 'NPUS-4-SERVICES'
  const member = { ip: ip('172.30.0.1'), protocol: 'TCP', port: 80 } as const
  await kernel.sets.run([
    { do: 'delete', name, member },
    { do: 'add', name, member: { ...member, port: 81 } },
  ])
  await wait(14)
  expect(rounds()).toContainEqual({
    keys: [`member/${name}/172.30.0.1,tcp:81`, `member/${name}/172.30.0.1,tcp:80`],
    by: 'another program',
  })
  await kernel.sets.run([{ do: 'flush', name }])
  await wait(1)
  expect(rounds()).toContainEqual({ keys: 'all', by: 'another program' })
  stop()
  await wait(3)
  await sync(at('b', '172.30.0.2'))
  expect(rounds()).toEqual([])
})

test('routes and rules that other processes change are reported at once', async () => {
  const { kernel, rounds, stop } = await watched()
  kernel.routes.foreignRuleFlush(4)
  expect(rounds()).toEqual([{ keys: ['route/4', 'route/6'], by: 'another program' }])
  expect(kernel.monitor.started).toBe(true)
  stop()
  expect(kernel.monitor.started).toBe(false)
})

const bindings = new Map([['shop/cart/TCP', [{ ip: ip('127.0.0.1'), port: 8080 }]]])
const bound = { listening: { kind: 'bound', bindings }, balancing: 'rr' } as const

test('bound, it works without a kernel', async () => {
  const forwarder = new FakeForwarder(new Map())
  const mode = new UserspaceMode(bound, { forwarderState: new ForwarderState(forwarder) })
  const one = entry()
  mode.program.replace(one.id, one)
  const set = [...mode.program.takeChanges().keys()]
  expect((await mode.apply({ set, unset: [] })).failed).toEqual(new Map())
  expect([...(await mode.observe()).keys()]).toEqual(set)
  expect(forwarder.routes.get(one.id)?.listeners).toMatchObject([{ ip: '127.0.0.1', port: 8080 }])
  expect((await mode.probe()).missing).toEqual([])
  mode.watch(() => {})()
  await mode.cleanup()
})

test('backends that drain are the forwarder’s to count', () => {
  const { mode, forwarder } = fakeUserspaceNode()
  forwarder.setDraining(3)
  expect(mode.draining).toBe(3)
  expect(new UserspaceMode(bound, {}).draining).toBe(0)
})

test('what cannot work is a bug of the caller', async () => {
  expect(() => new UserspaceMode(redirected(), {})).toThrow(TypeError)
  const mode = new UserspaceMode(redirected(), { kernel: fakeRedirectKernel() })
  const change = { set: ['entry/a' as ObjectKey], unset: [] }
  await expect(mode.apply(change)).rejects.toThrow(TypeError)
})

test('clients of an earlier run come to the ports of this one, but for TCP connections', async () => {
  const { kernel, sync } = fakeUserspaceNode()
  await sync(entry())
  const ports = { pods: 51_001, others: 51_002 }
  const next = fakeUserspaceNode({
    kernel,
    forwarder: new FakeForwarder(
      new Map([
        [4, ports],
        [6, ports],
      ]),
    ),
  })
  expect(kernel.conntrack.translated).toEqual([])
  await next.sync(entry())
  const former = new Set([41_001, 41_002, 61_001, 61_002])
  expect(kernel.conntrack.translated).toEqual([
    { ports: former, protocols: ['UDP'], which: 'all' },
    { ports: former, protocols: ['TCP'], which: 'unanswered' },
  ])
})

test('packets are led here only by rules that name ports of this forwarder', async () => {
  const { kernel, sync, mode } = fakeUserspaceNode()
  await sync(entry())
  const stop = new AbortController()
  const retired = mode.drainAndCleanup(stop.signal)
  await setImmediate()
  stop.abort()
  await retired
  const ports = { pods: 51_001, others: 51_002 }
  const forwarder = new FakeForwarder(new Map([[4, ports] as const, [6, ports] as const]))
  const run = kernel.sets.run.bind(kernel.sets)
  const early: unknown[] = []
  kernel.sets.run = async (commands) => {
    const leading = commands.filter((one) => one.do === 'add' && one.name.endsWith('-SERVICES'))
    if (/--to-destination :41/.test(kernel.iptables.dump())) early.push(...leading)
    return run(commands)
  }
  const { failed } = await fakeUserspaceNode({ kernel, forwarder }).sync(entry())
  expect([failed.size, early]).toEqual([0, []])
})

test('flows that cannot be cut are a refusal of the rules that lead them, and are cut later', async () => {
  const { kernel, sync } = fakeUserspaceNode()
  await sync(entry())
  const ports = { pods: 51_001, others: 51_002 }
  const forwarder = new FakeForwarder(new Map([[4, ports] as const, [6, ports] as const]))
  const next = fakeUserspaceNode({ kernel, forwarder })
  const cut = kernel.conntrack.cutTranslatedTo.bind(kernel.conntrack)
  const silent = new NodeProxyError('NP_KERNEL_NETLINK', 'no answer')
  kernel.conntrack.cutTranslatedTo = () => Promise.reject(silent)
  const { failed } = await next.sync(entry())
  expect([...failed.values()]).toContainEqual({ code: 'NP_KERNEL_NETLINK', message: 'no answer' })
  kernel.conntrack.cutTranslatedTo = cut
  await next.retry()
  const former = new Set([41_001, 41_002, 61_001, 61_002])
  expect(kernel.conntrack.translated.map((each) => each.ports)).toEqual([former, former])
  expect(next.tracker.isSettled).toBe(true)
})
