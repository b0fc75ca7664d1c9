import { constants } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import type { Cidr } from '../../lib/ip.ts'
import { SET, tableOf } from '../../policy/nftables/render.ts'
import { CLUSTER_POLICIES, POLICY_PATHS } from '../../watch/testing/model-cluster.ts'
import {
  ENFORCED,
  enforced,
  notEnforced,
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

const NONE = [false, false]

test('auto enforces where the API permits it and no other program does, and says so once', async () => {
  const one = await rig()
  await enforced(one)
  expect(await one.hasTables()).toEqual([true, true])
  expect(said(one, 'NetworkPolicies are enforced on this node')).toBe(1)
  expect(await one.text()).toMatch(/nodeproxy_policy_enforcement 1\n/)
  expect(await one.text()).toContain('nodeproxy_policy_objects{kind="isolated_address"} 2\n')
  expect(one.policies.watched()).toHaveLength(3)
})

test('false enforces nothing, watches nothing, and removes what an earlier process left', async () => {
  const one = await rig()
  await enforced(one)
  await one.policies.stop()
  expect(await one.hasTables()).toEqual([true, true])

  const other = await rig({ enforce: false, namespace: one.namespace })
  await notEnforced(other)
  expect(other.policies.describe()).toBe('not enforced: networkPolicy.enforce is false')
  expect([other.cluster.policies.pods.watchers, await other.hasTables()]).toEqual([0, NONE])
  other.configure('auto')
  await enforced(other)
  other.configure(false)
  await notEnforced(other)
  expect(await other.hasTables()).toEqual([false, false])
  await other.until(() => other.cluster.policies.pods.watchers === 0)
  expect(await other.text()).toMatch(/nodeproxy_policy_enforcement 0\n/)
})

test('stopped, a changed configuration begins nothing', async () => {
  const one = await rig({ enforce: false })
  await notEnforced(one)
  await one.policies.stop()
  one.configure('auto')
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(one.sockets).toHaveLength(1)
})

test('the ranges of the Node are in force that were known before enforcement began', async () => {
  const one = await rig({ enforce: false })
  const node = { name: 'n1', zone: undefined, addresses: [], leaving: false }
  const value = { ...node, podCIDRs: ['10.0.0.0/24' as Cidr] }
  one.policies.takeCluster([{ kind: 'node', name: 'n1', value }])
  one.configure('auto')
  await enforced(one)
  one.configure('auto', { 'networkPolicy.unknownPods': 'deny' })
  const sets = () => one.namespace.table(tableOf(4))!.sets
  await one.until(() => sets().has(SET.localRanges))
  expect([...sets().get(SET.localRanges)!.store.all()]).not.toEqual([])
})

test('auto ends when another enforcer appears, and begins again when it is gone', async () => {
  const one = await rig()
  await enforced(one)
  one.traces.present.add('cilium_host')
  await notEnforced(one)
  expect(one.policies.describe()).toContain('another program on this node enforces them: Cilium')
  expect(await one.hasTables()).toEqual([false, false])
  expect(one.conditions()).toEqual([])
  one.traces.present.clear()
  await enforced(one)
})

test('true goes on beside another enforcer, with a condition that names it', async () => {
  const one = await rig({ enforce: true })
  one.traces.present.add('cilium_host')
  await enforced(one)
  await one.until(() => one.conditions().length > 0)
  expect(one.conditions()).toEqual([
    expect.stringMatching(/^foreign-policy-enforcer false .*Cilium \(device cilium_host\)/),
  ])
  one.traces.present.clear()
  await one.until(() => one.conditions().length === 0)
})

test('auto without a right is off, says once which one is missing, and begins when it is there', async () => {
  const one = await rig()
  one.cluster.refusals.set(POLICY_PATHS.pods, 403)
  await notEnforced(one)
  const before = one.clock.now()
  await one.until(() => one.clock.now() > before + 20 * 60_000)
  expect(said(one, 'the right to list and watch pods of the core group is missing')).toBe(1)
  expect([one.conditions(), await one.hasTables()]).toEqual([[], [false, false]])
  one.cluster.refusals.clear()
  await enforced(one)
})

test('a right that is taken away leaves the rules for half a minute, then removes them', async () => {
  const one = await rig()
  await enforced(one)
  one.cluster.refusals.set(POLICY_PATHS.networkpolicies, 403)
  one.cluster.policies.networkpolicies.compact()
  one.cluster.policies.networkpolicies.disconnect(false)
  await one.until(() => said(one, 'networkpolicies of networking.k8s.io is missing') > 0)
  expect(await one.hasTables()).toEqual([true, true])
  await notEnforced(one)
  expect(await one.hasTables()).toEqual([false, false])
})

test('without the right to cluster policies the others are enforced, and status and log say it', async () => {
  const one = await rig({ isNodeListed: false })
  one.cluster.policyVersions = ['v1alpha2']
  one.cluster.refusals.set(CLUSTER_POLICIES.objects, 403)
  one.policies.clusterListed()
  await one.until(() => one.policies.describe().startsWith(ENFORCED))
  const missing =
    'the right to list and watch clusternetworkpolicies of policy.networking.k8s.io is missing'
  await one.until(() => one.policies.describe().includes(missing))
  expect(
    said(one, `ClusterNetworkPolicies are not read, NetworkPolicies are enforced: ${missing}`),
  ).toBe(1)
  expect([one.conditions(), await one.hasTables()]).toEqual([[], [true, true]])
  one.cluster.refusals.clear()
  await enforced(one)
  expect(said(one, 'ClusterNetworkPolicies are read again')).toBe(1)
})

test('cluster policies are enforced and counted', async () => {
  const one = await rig({ isNodeListed: false })
  one.cluster.policyVersions = ['v1alpha2']
  const ingress = [{ action: 'Deny', from: [{ namespaces: {} }] }]
  const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, ingress }
  one.cluster.clusterPolicies.put('fence', spec)
  one.policies.clusterListed()
  await one.until(() => one.policies.describe() === '2 policies isolate 2 addresses of pods')
  expect(await one.text()).toContain('nodeproxy_policy_objects{kind="policy_chain"} 3\n')
})

test('true without a right is a condition that blocks readiness until the right is there', async () => {
  const one = await rig({ enforce: true })
  one.cluster.refusals.set(POLICY_PATHS.namespaces, 403)
  await one.until(() => one.conditions().length > 0)
  expect(one.conditions()).toEqual([
    expect.stringMatching(
      /^network-policy-not-enforced true .*list and watch namespaces of the core group is missing/,
    ),
  ])
  expect(one.policies.describe()).toMatch(
    /^not enforced yet: the right to list and watch namespaces/,
  )
  one.cluster.refusals.clear()
  await enforced(one)
  expect(one.conditions()).toEqual([])
})

test.each([
  ['auto', []],
  [true, [expect.stringMatching(/^network-policy-not-enforced true .*NET_ADMIN/)]],
] as const)('without the right to write rules nothing is enforced: %s', async (enforce, raised) => {
  const missing = { code: 'NP_X', what: 'CAP_NET_ADMIN is missing', remedy: 'add NET_ADMIN' }
  const one = await rig({ enforce, rights: { ok: false, missing } })
  await notEnforced(one)
  expect([one.conditions(), one.sockets]).toEqual([raised, []])
})

test('a kernel without nf_tables is named', async () => {
  const silence = new NodeProxyError('NP_KERNEL_NETLINK', 'no such protocol')
  const one = await rig({ enforce: true, silence })
  await notEnforced(one)
  expect(one.policies.describe()).toContain('the kernel has no nf_tables (no such protocol)')
  expect(one.conditions()).toHaveLength(1)
  one.configure('auto')
  await one.until(() => one.conditions().length === 0)
})

test('rules are not written before the Node is listed', async () => {
  const one = await rig({ isNodeListed: false })
  await one.until(() => one.cluster.policies.pods.watchers === 1)
  const before = one.clock.now()
  await one.until(() => one.clock.now() > before + 60_000)
  expect(await one.hasTables()).toEqual([false, false])
  expect(one.policies.describe()).toMatch(/^not enforced yet/)
  one.policies.clusterListed()
  await enforced(one)
  expect(await one.hasTables()).toEqual([true, true])
})

const LOG = { 'networkPolicy.logDeniedPerSecond': 2 }
const DENIED = 'info policies denied a connection '
/** From 10.0.0.9, a Pod of nobody, port 49153, to 10.0.0.4:80. */
const PAYLOAD = Buffer.from(
  '45 00 00 2c 00 00 00 00 40 06 00 00 0a 00 00 09 0a 00 00 04 c0 01 00 50'.replaceAll(' ', ''),
  'hex',
)

test('denied packets are logged while that is set, and the rules log nothing before and after', async () => {
  const one = await rig()
  await enforced(one)
  expect([one.packets.isOpen, await one.logs()]).toEqual([false, [false, false]])
  one.configure('auto', LOG)
  await one.until(() => one.packets.isOpen)
  await one.clock.advance(1_000)
  expect(await one.logs()).toEqual([true, true])
  const prefix = (await one.chainOfPod()) ?? ''
  one.packets.send({ family: 4, prefix, payload: PAYLOAD })
  const record = one.lines.find((line) => line.startsWith(DENIED)) ?? ''
  expect(JSON.parse(record.slice(DENIED.length))).toEqual({
    source: '10.0.0.9',
    sourcePort: 49_153,
    destination: '10.0.0.4',
    port: 80,
    protocol: 'TCP',
    direction: 'ingress',
    pod: 'shop/web',
    policies: ['shop/deny'],
  })
  one.configure('auto')
  await one.until(() => !one.packets.isOpen)
  await one.clock.advance(1_000)
  expect(await one.logs()).toEqual([false, false])
})

test('of both families together no more are logged in a second than is set', async () => {
  const one = await rig()
  one.configure('auto', LOG)
  await enforced(one)
  await one.until(() => one.packets.isOpen)
  const prefix = (await one.chainOfPod()) ?? ''
  const send = (times: number) => {
    for (let sent = 0; sent < times; sent++) {
      one.packets.send({ family: 4, prefix, payload: PAYLOAD })
    }
  }
  one.packets.send({ family: 4, prefix: 'IN=eth0', payload: PAYLOAD })
  send(5)
  expect(said(one, DENIED)).toBe(2)
  await one.clock.advance(1_000)
  send(1)
  expect(said(one, DENIED)).toBe(3)
  one.packets.lose()
  one.packets.lose()
  expect(said(one, 'records of denied connections were lost')).toBe(1)
  await one.clock.advance(60_000)
  expect(said(one, 'the same failure was repeated {"times":1}')).toBe(1)
})

test('a log that cannot be read leaves the rules as they are without it, and is tried again', async () => {
  const one = await rig()
  one.packets.refusal = new NodeProxyError('NP_KERNEL_NETLINK', 'group 28272 is taken')
  one.configure('auto', LOG)
  await enforced(one)
  await one.until(() => said(one, 'cannot be logged: group 28272 is taken') === 1)
  expect(await one.logs()).toEqual([false, false])
  one.packets.refusal = undefined
  await one.until(() => one.packets.isOpen)
  await one.clock.advance(1_000)
  expect(await one.logs()).toEqual([true, true])
})

test('a kernel whose rules cannot log enforces policies without a log', async () => {
  const one = await rig()
  await enforced(one)
  one.sockets[0]?.refuse(
    constants.errno.ENOENT,
    (command) =>
      command.do === 'addRule' && command.rule.expressions.some(({ type }) => type === 'log'),
  )
  one.configure('auto', LOG)
  await one.until(() => said(one, 'the kernel refuses rules that log') === 1)
  expect([one.packets.isOpen, await one.logs()]).toEqual([false, [false, false]])
  expect([one.policies.describe(), one.conditions()]).toEqual([ENFORCED, []])
})
