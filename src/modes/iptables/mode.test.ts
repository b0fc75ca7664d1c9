import { expect, test } from 'vitest'
import { fakeNode, ownersOf, serviceAt } from '../../../test/support/modes/fake-node.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ObjectKey } from '../mode.ts'
import { backend } from '../testing/mode-fixtures.ts'

const sticky = { affinity: { seconds: 60 } }

test('what was written is what is observed', async () => {
  const { mode, tracker, sync } = fakeNode()
  await sync(serviceAt('a', '172.30.0.1'), serviceAt('b', '172.30.0.2', sticky))
  expect(tracker.saw(await mode.observe())).toEqual([])
  expect(tracker.isSettled).toBe(true)
})

test('one changed backend writes one chain', async () => {
  const { iptables, sync } = fakeNode()
  const all = Array.from({ length: 200 }, (_, i) => serviceAt(`s${i}`, `172.30.0.${i + 1}`))
  await sync(...all)
  const before = iptables.texts.length
  const pools = { cluster: [backend('10.9.9.9')], local: [] }
  await sync(serviceAt('s7', '172.30.0.8', { pools }))
  const [text, ...more] = iptables.texts.slice(before)
  expect(more).toEqual([])
  expect(text?.match(/^:/gm)).toHaveLength(1)
})

test('removing an entry removes its chains and sets', async () => {
  const { iptables, sets, sync, remove } = fakeNode()
  await sync()
  const empty = iptables.dump()
  await sync(serviceAt('a', '172.30.0.1', sticky))
  expect((await remove('a')).failed).toEqual(new Map())
  expect(iptables.dump()).toBe(empty)
  expect(await sets.names('')).toEqual([])
})

test('a refused chain harms no other Service, and is tried again', async () => {
  const { iptables, tracker, mode, sync, retry } = fakeNode()
  const allow = iptables.refuse(/10\.66\.0\.1/)
  const pools = { cluster: [backend('10.66.0.1')], local: [] }
  const { failed } = await sync(
    serviceAt('a', '172.30.0.1'),
    serviceAt('bad', '172.30.0.6', { pools }),
    serviceAt('b', '172.30.0.2'),
  )
  expect(ownersOf(mode, failed)).toEqual(new Set(['bad']))
  expect([...failed.values()][0]?.code).toBe('NP_IPTABLES_REFUSED')
  expect(iptables.dump()).toContain('-d 172.30.0.1/32')
  expect(iptables.dump()).toContain('-d 172.30.0.2/32')
  expect(iptables.dump()).not.toContain('10.66.0.1')
  allow()
  await retry()
  expect(iptables.dump()).toContain('10.66.0.1')
  expect(tracker.isSettled).toBe(true)
})

test('a set that the kernel refuses takes only its own Service along', async () => {
  const { iptables, sets, mode, sync } = fakeNode()
  sets.refuse((command) => command.do === 'create')
  const { failed } = await sync(serviceAt('a', '172.30.0.1'), serviceAt('b', '172.30.0.2', sticky))
  expect(ownersOf(mode, failed)).toEqual(new Set(['b']))
  expect(iptables.dump()).toContain('-d 172.30.0.1/32')
})

test.each(['locked', 'timeout', 'missing'] as const)('%s fails everything', async (kind) => {
  const { iptables, tracker, sync, retry } = fakeNode()
  iptables.failNext({ kind }, 2)
  const { failed } = await sync(serviceAt('a', '172.30.0.1'))
  expect(new Set([...failed.values()].map(({ code }) => code))).toEqual(
    new Set([`NP_IPTABLES_${kind.toUpperCase()}`]),
  )
  expect(tracker.isSettled).toBe(false)
  await retry()
  expect(tracker.isSettled).toBe(true)
})

test('a fresh daemon adopts what is right and removes what is stale', async () => {
  const { iptables, sets, sync } = fakeNode()
  await sync(serviceAt('a', '172.30.0.1'), serviceAt('gone', '172.30.0.9', sticky))
  const fresh = fakeNode({ iptables, sets })
  fresh.tracker.saw(await fresh.mode.observe())
  iptables.texts.length = 0
  await fresh.sync(serviceAt('a', '172.30.0.1'))
  expect(iptables.texts.join('')).not.toContain('10.180.0.1')
  expect(iptables.dump()).not.toContain('172.30.0.9')
  expect(await sets.names('')).toEqual([])
  expect(fresh.tracker.saw(await fresh.mode.observe())).toEqual([])
})

test('a jump that stands twice is put right', async () => {
  const { iptables, mode, tracker, sync } = fakeNode()
  await sync()
  iptables.alter(4, '*nat\n-A PREROUTING -j NPROXY-SERVICES\nCOMMIT\n')
  expect(tracker.saw(await mode.observe())).toMatchObject([{ kind: 'altered' }])
  await sync()
  expect(iptables.dump().match(/-A PREROUTING -j NPROXY-SERVICES/g)).toHaveLength(2)
})

test('a jump of another version is taken out, the present one stays', async () => {
  const { iptables, mode, tracker, sync } = fakeNode()
  await sync()
  const before = iptables.dump()
  iptables.alter(4, '*nat\n-A OUTPUT -p tcp -j NPROXY-SERVICES\nCOMMIT\n')
  expect(tracker.saw(await mode.observe())).toMatchObject([{ kind: 'stray' }])
  await sync()
  expect(iptables.dump()).toBe(before)
})

test('cleanup leaves what others made', async () => {
  const { iptables, sets, mode, sync } = fakeNode()
  const foreign = '*nat\n:KUBE-SERVICES - [0:0]\n-A PREROUTING -j KUBE-SERVICES\nCOMMIT\n'
  iptables.alter(4, foreign)
  await sets.run([
    { do: 'create', name: 'FOREIGN', type: { type: 'hash:ip', family: 4, maxElements: 9 } },
  ])
  const dump = () => iptables.dump().replaceAll(/# .*\n|:[A-Z]+ ACCEPT\n/g, '')
  const before = dump()
  await sync(serviceAt('a', '172.30.0.1', sticky))
  await mode.cleanup()
  expect(dump()).toBe(before)
  expect(await sets.names('')).toEqual(['FOREIGN'])
})

test('cleanup says what could not be removed, and removes the rest', async () => {
  const { iptables, sets, mode, sync } = fakeNode()
  await sync(serviceAt('a', '172.30.0.1', sticky))
  sets.refuse((command) => command.do === 'destroy')
  await expect(mode.cleanup()).rejects.toThrow(expect.objectContaining({ code: 'NP_IPTABLES_SET' }))
  expect(iptables.dump()).not.toContain('NPROXY')
})

test('draining and cleanup leave nothing, unless they were aborted', async () => {
  const { iptables, sets, mode, sync } = fakeNode()
  await sync(serviceAt('a', '172.30.0.1', sticky))
  await mode.drainAndCleanup(AbortSignal.abort())
  expect(iptables.dump()).toContain('-d 172.30.0.1/32')
  await mode.drainAndCleanup(new AbortController().signal)
  expect(iptables.dump()).not.toContain('NPROXY')
  expect(await sets.names('')).toEqual([])
})

test('rules can go before sets that others may still name', async () => {
  const { iptables, sets, mode, sync } = fakeNode()
  await sync(serviceAt('a', '172.30.0.1', sticky))
  await mode.removeRules()
  expect(iptables.dump()).not.toContain('NPROXY')
  expect(await sets.names('NPROXY-')).toHaveLength(2)
})

test('a kernel without IP sets serves all but session affinity', async () => {
  const { sets, iptables, mode, tracker, sync } = fakeNode()
  sets.names = async () => {
    throw new NodeProxyError('NP_KERNEL_IPSET', "the kernel's IP sets cannot be used: not found")
  }
  sets.refuse(() => true)
  const { failed } = await sync(serviceAt('a', '172.30.0.1'), serviceAt('b', '172.30.0.2', sticky))
  expect(ownersOf(mode, failed)).toEqual(new Set(['b']))
  expect(tracker.saw(await mode.observe())).toEqual([])
  expect(iptables.dump()).toContain('-d 172.30.0.1/32')
})

test('sets that cannot be listed are an error once there are some', async () => {
  const { sets, mode, sync } = fakeNode()
  await sync(serviceAt('b', '172.30.0.2', sticky))
  sets.names = async () => {
    throw new NodeProxyError('NP_KERNEL_IPSET', "the kernel's IP sets cannot be used: try later")
  }
  await expect(mode.observe()).rejects.toThrow('try later')
})

test('changes by other processes are reported by object, our own are not', async () => {
  const { mode, monitor, sync } = fakeNode()
  const reported: unknown[] = []
  const stop = mode.watch((change) => reported.push(change))
  await sync(serviceAt('a', '172.30.0.1'))
  expect(reported).toEqual([])
  const chain = { family: 4, table: 'nat', chain: 'NPROXY-VIPS' } as const
  monitor.change({ touched: [chain], by: { pid: 7, process: 'iptables' } })
  expect(reported).toEqual([{ keys: ['4/nat/NPROXY-VIPS'], by: 'iptables (pid 7)' }])
  stop()
  expect(monitor.started).toBe(false)
})

test('a large change is written without listening, a small one is not', async () => {
  const { mode, monitor, sync } = fakeNode()
  mode.watch(() => {})
  await sync(serviceAt('a', '172.30.0.1'))
  await sync(
    ...Array.from({ length: 600 }, (_, n) => serviceAt(`s${n}`, `10.0.${n >> 8}.${n & 255}`)),
  )
  expect(monitor.holds.map(({ unsubscribed }) => unsubscribed)).toEqual([false, true])
  expect(monitor.holds.map(({ own }) => own.commits)).toEqual([4, 3])
})

test('the hold ends even when it is unknown what the program did', async () => {
  const { iptables, monitor, mode, sync } = fakeNode()
  iptables.restore = () => Promise.reject(new NodeProxyError('NP_KERNEL_SPAWNER', 'lost'))
  await expect(sync()).rejects.toThrow('lost')
  expect(monitor.holds).toEqual([{ unsubscribed: false, own: { authors: [], commits: undefined } }])
  expect(await mode.observe(['4/nat/NPROXY-VIPS' as ObjectKey])).toEqual(new Map())
})
