import { constants } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { SET, tableOf } from '../../policy/nftables/render.ts'
import { POLICY_PATHS } from '../../watch/testing/model-cluster.ts'
import {
  ENFORCED,
  enforced,
  NODE_IP,
  notEnforced,
  type Rig,
  type RigOptions,
  said,
  startPolicies,
} from './testing/policies-rig.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function rig(options: RigOptions = {}) {
  const started = await startPolicies(options)
  cleanups.push(started.end)
  return started
}

/** Milliseconds until something holds. */
async function timeUntil({ clock, until }: Rig, condition: () => boolean): Promise<number> {
  const before = clock.now()
  await until(condition)
  return clock.now() - before
}

const MISSING = 'the right to list and watch pods of the core group is missing'

test('enforcement begins at once, and ends soon after another enforcer appeared', async () => {
  const one = await rig()
  expect(await timeUntil(one, () => one.sockets.length > 0)).toBeLessThan(5_000)
  await enforced(one)
  one.traces.present.add('cilium_host')
  expect(await timeUntil(one, () => one.policies.describe() !== ENFORCED)).toBeLessThan(15_000)
})

test('the ranges in force are those that this Node has now', async () => {
  const one = await rig()
  one.configure('auto', { 'networkPolicy.unknownPods': 'deny' })
  await enforced(one)
  const take = (name: string, podCIDR: string) => {
    const node = { name, zone: undefined, addresses: [], leaving: false }
    const value = { ...node, podCIDRs: [podCIDR as Cidr] }
    one.policies.takeCluster([{ kind: 'node', name, value }])
  }
  const ranges = () => {
    const set = one.namespace.table(tableOf(4))!.sets.get(SET.localRanges)!
    return [...set.store.all()].map(({ element }) => Buffer.from(element.key).join('.'))
  }
  take('n1', '10.0.1.0/24')
  await one.until(() => ranges().includes('10.0.1.0'))
  take('n1', '10.0.2.0/24')
  take('n2', '10.0.5.0/24')
  await one.until(() => ranges().includes('10.0.2.0'))
  await one.clock.advance(1_000)
  expect(ranges().toSorted()[0]).toBe('10.0.2.0')
  expect(ranges()).not.toContain('10.0.5.0')
})

test('before the rules are there nothing counts as enforced, and after the end nothing more', async () => {
  const one = await rig({ isNodeListed: false })
  await one.until(() => one.cluster.policies.pods.watchers === 1)
  expect(one.policies.enforced()).toBeUndefined()
  expect(await one.text()).toMatch(/nodeproxy_policy_enforcement 0\n/)
  one.policies.clusterListed()
  await enforced(one)
  expect(one.policies.enforced()?.podChains.size).toBe(1)
  expect(await one.text()).toContain('nodeproxy_policy_objects{')
  one.configure(false)
  await notEnforced(one)
  expect(one.policies.enforced()).toBeUndefined()
  expect(await one.text()).not.toContain('nodeproxy_policy_objects{')
})

test('status and metrics follow the policies', async () => {
  const one = await rig()
  await enforced(one)
  one.cluster.policies.networkpolicies.put('shop/more', { podSelector: {} })
  await one.until(() => one.policies.describe() === '2 policies isolate 2 addresses of pods')
  expect(await one.text()).toContain('nodeproxy_policy_objects{kind="policy"} 2\n')
})

test.each([false, 'auto'] as const)(
  'the condition about another enforcer ends with true: %s',
  async (next) => {
    const one = await rig({ enforce: true })
    one.traces.present.add('cilium_host')
    await one.until(() => one.conditions().length > 0)
    one.configure(next)
    await notEnforced(one)
    expect(one.conditions()).toEqual([])
  },
)

test('a right that is missing is a condition as soon as auto becomes true', async () => {
  const one = await rig()
  one.cluster.refusals.set(POLICY_PATHS.pods, 403)
  await one.until(() => one.policies.describe().startsWith(`not enforced yet: ${MISSING}`))
  one.configure(true)
  expect(await timeUntil(one, () => one.conditions().length > 0)).toBeLessThan(10_000)
  expect(one.conditions()).toEqual([expect.stringContaining(MISSING)])
})

test('a refusal after others that were withdrawn leaves the rules, too', async () => {
  const one = await rig()
  one.cluster.refusals.set(POLICY_PATHS.pods, 403)
  await one.until(() => said(one, MISSING) === 1)
  one.cluster.refusals.clear()
  await enforced(one)
  one.cluster.refusals.set(POLICY_PATHS.pods, 403)
  one.cluster.policies.pods.compact()
  one.cluster.policies.pods.disconnect(false)
  await one.until(() => said(one, MISSING) === 2)
  await one.clock.advance(5_000)
  expect([one.policies.describe(), await one.hasTables()]).toEqual([ENFORCED, [true, true]])
})

test('an old refusal is no reason any more while the API is being listed', async () => {
  const one = await rig({ isNodeListed: false })
  one.cluster.refusals.set(POLICY_PATHS.pods, 403)
  await notEnforced(one)
  one.cluster.refusals.clear()
  await one.until(() => one.policies.describe().startsWith('not enforced yet'))
  expect(one.policies.describe()).toBe('not enforced yet: the API is being listed')
})

test('a refusal from before a permission is no reason any more', async () => {
  const one = await rig()
  one.cluster.refusals.set(POLICY_PATHS.pods, 403)
  await notEnforced(one)
  one.cluster.refusals.clear()
  one.configure(true)
  await enforced(one)
  one.configure('auto')
  await one.clock.advance(15_000)
  expect(one.policies.describe()).toBe(ENFORCED)
})

test('a refusal that has ended is not named while the Node is awaited', async () => {
  const one = await rig({ isNodeListed: false })
  one.cluster.refusals.set(POLICY_PATHS.pods, 403)
  await one.until(() => one.policies.describe().startsWith(`not enforced yet: ${MISSING}`))
  one.cluster.refusals.clear()
  await one.until(() => one.cluster.policies.pods.watchers === 1)
  expect(one.policies.describe()).toBe('not enforced yet: the API is being listed')
})

test('rules that fail are no condition any more when nothing is enforced', async () => {
  const one = await rig()
  await enforced(one)
  one.sockets[0]?.refuse(constants.errno.EBUSY, (command) => command.do === 'addChain')
  one.cluster.policies.networkpolicies.put('shop/more', { podSelector: {} })
  await one.until(() => one.conditions().length > 0)
  expect(one.conditions()).toEqual([expect.stringMatching(/^network-policy-failing false /)])
  one.configure(false)
  await notEnforced(one)
  expect(one.conditions()).toEqual([])
})

test('the log of denied connections follows the rate, and ends with the enforcement', async () => {
  const one = await rig()
  const rate = (perSecond: number) => ({ 'networkPolicy.logDeniedPerSecond': perSecond })
  one.configure('auto', rate(2))
  await enforced(one)
  await one.until(() => one.packets.isOpen)
  one.configure('auto', rate(7))
  const limits = () =>
    [...one.namespace.table(tableOf(4))!.chains.values()].flatMap(({ rules }) =>
      rules.flatMap(({ rule }) =>
        rule.expressions.flatMap((of) => (of.type === 'limit' ? [of.perSecond] : [])),
      ),
    )
  await one.until(() => limits().includes(7))
  one.configure(false, rate(7))
  await notEnforced(one)
  expect(one.packets.isOpen).toBe(false)
})

test('a kernel without nf_tables costs no open sockets', async () => {
  const silence = new NodeProxyError('NP_KERNEL_NETLINK', 'no such protocol')
  const one = await rig({ silence })
  await one.until(() => one.sockets.length > 2)
  await notEnforced(one)
  for (const socket of one.sockets.slice(0, -1)) {
    await expect(socket.generation()).rejects.toThrow('this socket is closed')
  }
})

test('connections that policies do not admit are cut, except those of the node', async () => {
  const one = await rig()
  const destination = '10.0.0.4' as IpAddress
  const ofNode = { source: NODE_IP, destination, protocol: 'TCP', port: 80 } as const
  one.conntrack.ends = [ofNode, { ...ofNode, source: '10.0.0.9' as IpAddress }]
  await enforced(one)
  await one.until(() => one.conntrack.ends.length < 2)
  expect(one.conntrack.ends).toEqual([ofNode])
})
