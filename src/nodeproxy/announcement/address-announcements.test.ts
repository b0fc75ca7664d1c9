import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { startSecuredApi } from '../../apiserver/testing/secured-api.ts'
import type { RoleRule } from '../../auth/builtin-roles/role-object.ts'
import { recordPermissions, unusedPermissions } from '../../auth/testing/recorded-permissions.ts'
import { bearer, fixedCredential } from '../../client/connection/credential/credential.ts'
import { connectionBySocket } from '../../client/connection/load-connection.ts'
import { createApiClient } from '../../client/http/api-client.ts'
import { ApiFailures } from '../../client/http/api-failures.ts'
import { type ClusterEvent, ClusterStore } from '../../cluster/cluster-store.ts'
import type { InterfaceAddress } from '../../kernel/addresses.ts'
import { TABLE } from '../../kernel/neighbours/former-nodes.ts'
import { FakeLink, withoutRights } from '../../kernel/neighbours/testing/fake-link.ts'
import { FakeNamespace } from '../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../kernel/nftables/testing/fake-nftables.ts'
import { FakeAddresses } from '../../kernel/testing/fake-addresses.ts'
import { type Clock, monotonicMs, systemClock } from '../../lib/clock.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { systemRandom } from '../../lib/random.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeNode } from '../../resources/node.ts'
import { decodeService } from '../../resources/service.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { Announcements } from './announcements.ts'

const IP = '192.0.2.50' as IpAddress
const OTHER = '2001:db8::50' as IpAddress
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const RBAC = join(
  import.meta.dirname,
  '../../../config/kubernetes/components/announcement/rbac.yaml',
)
const WAIT = { timeout: 30_000, interval: 5 }
/** How much faster time passes for the nodes than for the test. */
const SPEED = 10
const START = systemClock.now()
const speedUp = (isHeld: (ms: number) => boolean): Clock => ({
  now: () => START + (systemClock.now() - START) * SPEED,
  after: (ms, task) => systemClock.after(ms / SPEED, () => isHeld(ms) || task()),
})
const monotonic = (): number => monotonicMs() * SPEED
/** Short, but long enough for a busy machine. */
const TIMING = {
  'announcement.leaseDuration': 1_500 * SPEED,
  'announcement.renewDeadline': 1_150 * SPEED,
  'announcement.renewInterval': 150 * SPEED,
}

/** An API server with the Role of the manifest, and a link of all nodes. */
async function network({ isPermitted = true } = {}) {
  let isWithoutRenewals = false
  const clock = speedUp((ms) => isWithoutRenewals && ms >= 10_000)
  const api = await startSecuredApi(['node-proxy'])
  if (isPermitted) for (const [path, object] of manifest()) await api.make(path, object)
  const link = new FakeLink({ now: monotonic, after: clock.after })
  const nodes: ReturnType<typeof node>[] = []
  function node(name: string, more: Readonly<Record<string, unknown>> = {}) {
    const connection = connectionBySocket(api.socketPath, fixedCredential(bearer('node-proxy')))
    const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
    const { log, lines } = recordingLog()
    const metrics = createMetrics()
    const store = new ClusterStore()
    const current = { 'announcement.layer2': true, ...TIMING, ...more }
    const holder = { current: configuration(current) }
    const device = `${name}-eth0`
    const conditions = new Conditions({ log, metrics })
    const addresses = new FakeAddresses([addressOf(name, device)])
    const namespace = new FakeNamespace(systemClock)
    const announcements = new Announcements({
      configuration: holder,
      client,
      clock,
      random: systemRandom,
      apiFailures: new ApiFailures({ log, clock: systemClock, server: 'test' }),
      addresses,
      openResponder: link.open,
      openNftables: () => new FakeNftables(namespace),
      monotonic,
      nodeName: name,
      cluster: store,
      afterApply: (callback) => setImmediate(callback),
      isRefused: () => false,
      metrics,
      conditions,
      log,
    })
    function take(...events: readonly ClusterEvent[]): void {
      store.apply(events)
      announcements.takeCluster(events)
    }
    onTestFinished(async () => {
      await announcements.stop()
      await client.close()
    })
    announcements.start()
    take({ kind: 'node', name, value: nodeObject(name) })
    announcements.clusterListed()
    return {
      name,
      device,
      addresses,
      announcements,
      lines,
      take,
      mac: () => link.mac(device),
      /** Whether packets of connections that this node does not know go to another node. */
      passesOn: () => namespace.table({ family: 4, name: TABLE }) !== undefined,
      conditions: () => conditions.current().map(({ reason, message }) => `${reason}: ${message}`),
      configure(values: Readonly<Record<string, unknown>>) {
        holder.current = configuration({ ...current, ...values })
        announcements.reconfigure()
      },
      metrics: () => {
        announcements.refreshMetrics()
        return metrics.text()
      },
    }
  }
  return {
    api,
    link,
    /** No announcer renews its Lease any more: what follows is published at once or never. */
    endRenewals() {
      isWithoutRenewals = true
    },
    async add(name: string, more?: Readonly<Record<string, unknown>>) {
      const added = node(name, more)
      nodes.push(added)
      if (isPermitted && more?.['announcement.layer2'] !== false) await published(api, name)
      return added
    },
    /** The node that answers for an address. */
    answering: (ip: IpAddress) => {
      const macs = link.request(ip)
      return nodes.filter((one) => macs.includes(one.mac() ?? '')).map(({ name }) => name)
    },
    async leases() {
      const { body } = await api.call('GET', LEASES)
      const { items } = body as unknown as {
        items: { metadata: { name: string }; spec: { holderIdentity?: string } }[]
      }
      return new Map(items.map(({ metadata, spec }) => [metadata.name, spec.holderIdentity]))
    },
  }
}

type Api = Awaited<ReturnType<typeof startSecuredApi>>

/** Waits until a node has published itself, so that all have the same order from the start. */
async function published(api: Api, name: string): Promise<void> {
  const check = async () => {
    const { status } = await api.call('GET', `${LEASES}/announcer-${name}`)
    expect(status).toBe(200)
  }
  await vi.waitFor(check, WAIT)
}

function manifest(): readonly (readonly [string, JsonObject])[] {
  const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/'
  return parseAllDocuments(readFileSync(RBAC, 'utf8')).map((one) => {
    const object = one.toJS() as JsonObject
    return [`${path}${stringAt(object, 'kind').toLowerCase()}s`, object]
  })
}

function addressOf(name: string, device: string): InterfaceAddress {
  const ip = `192.0.2.1${name.at(-1)}` as IpAddress
  return { family: 4, ip, device, scope: 'global' }
}

function valueOf<T>(decoded: { readonly ok: true; readonly value: T } | { readonly ok: false }): T {
  if (!decoded.ok) throw new Error('not decoded')
  return decoded.value
}

function nodeObject(name: string, labels: Readonly<Record<string, string>> = {}) {
  const addresses = [{ type: 'InternalIP', address: `192.0.2.1${name.at(-1)}` }]
  return valueOf(decodeNode({ metadata: { name, labels }, spec: {}, status: { addresses } }))
}

/** A Service of type LoadBalancer. */
function service(
  ips: readonly string[],
  spec: Readonly<Record<string, unknown>> = {},
  name = 'web',
): ClusterEvent {
  const value = valueOf(
    decodeService({
      metadata: { name, namespace: 'shop' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
      status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } },
    }),
  )
  return { kind: 'service', key: value.key, value }
}

function endpointsOn(...nodes: readonly string[]): ClusterEvent {
  const value = valueOf(
    decodeEndpointSlice({
      metadata: {
        name: 'web-1',
        namespace: 'shop',
        labels: { 'kubernetes.io/service-name': 'web' },
      },
      addressType: 'IPv4',
      endpoints: nodes.map((nodeName) => ({ addresses: ['10.0.0.1'], nodeName })),
      ports: [{ port: 80 }],
    }),
  )
  return { kind: 'endpoints', name: 'shop/web-1', value }
}

test('one node announces each address, and explains it; one that stops hands them over', async () => {
  const used = recordPermissions()
  const net = await network()
  const all = [await net.add('n1'), await net.add('n2')]
  for (const one of all) one.take(service([IP, OTHER]))
  await expect.poll(() => [IP, OTHER].map((ip) => net.answering(ip).length), WAIT).toEqual([1, 1])
  const [holder] = net.answering(IP)
  const mine = all.find(({ name }) => name === holder)!
  const other = all.find(({ name }) => name !== holder)!
  await expect
    .poll(() => other.announcements.explain(IP), WAIT)
    .toMatch(new RegExp(`^${holder} announces it since 20.*; this node does not: ${holder} comes`))
  expect(mine.announcements.explain(IP)).toMatch(/^this node announces it since 20/)
  expect(mine.announcements.state()).toMatchObject({ known: 2, problems: [] })
  expect(mine.announcements.state()?.addresses).toContain(IP)
  expect(await mine.metrics()).toMatch(/nodeproxy_announced_addresses [12]\n/)
  expect(mine.announcements.explain('192.0.2.99' as IpAddress)).toBeUndefined()

  expect([mine, other].map((one) => one.passesOn())).toEqual([false, false])
  await mine.announcements.stop()
  const leases = await net.leases()
  expect([...leases.values()]).not.toContain(holder)
  expect(leases.has(`announcer-${holder}`)).toBe(false)
  await expect.poll(() => net.answering(IP), WAIT).toEqual([other.name])
  expect(other.passesOn()).toBe(true)
  expect(other.announcements.explain(IP)).toContain(`connections that began at ${holder} go on`)
  expect(mine.announcements.state()).toBeUndefined()
  // The node that left does not come back.
  await expect.poll(() => other.passesOn(), WAIT).toBe(false)

  other.take(service([OTHER]))
  await expect
    .poll(async () => [...(await net.leases()).keys()], WAIT)
    .toEqual(['announced-2001-0db8-0000-0000-0000-0000-0000-0050', `announcer-${other.name}`])
  expect(net.answering(IP)).toEqual([])
  const [, role] = manifest()[0] as unknown as [string, { rules: readonly RoleRule[] }]
  const permissions = used.get('node-proxy-announcement') ?? new Set()
  // It reads a Lease again after a conflict, and lists where a server cannot begin a watch with what is there.
  const elsewhere = ['get', 'list'].map((verb) => `${verb} coordination.k8s.io/leases`)
  const unused = unusedPermissions(role.rules, permissions)
  expect(unused.filter((one) => !elsewhere.includes(one))).toEqual([])
})

test('an address follows the endpoints of a Service with policy Local', async () => {
  const net = await network()
  const all = [await net.add('n1'), await net.add('n2')]
  const take = (...events: readonly ClusterEvent[]) => all.map((one) => one.take(...events))
  take(service([IP], { externalTrafficPolicy: 'Local' }), endpointsOn('n1'))
  for (const name of ['n1', 'n2', 'n1']) {
    take(endpointsOn(name))
    await expect.poll(() => net.answering(IP), WAIT).toEqual([name])
  }
  expect(all[1]!.announcements.explain(IP)).toContain('it has no endpoint that is ready')
  take(endpointsOn())
  await expect.poll(() => net.answering(IP), WAIT).toEqual([])
  expect(all[1]!.announcements.explain(IP)).toMatch(/^no node (may announce|announces) it/)
})

test('a node without its interface, with the label, or with the setting off announces nothing', async () => {
  const net = await network()
  const [one, two] = [await net.add('n1'), await net.add('n2')]
  for (const each of [one, two]) each.take(service([IP]))
  await expect.poll(() => net.answering(IP).length, WAIT).toBe(1)
  net.link.set('n1-eth0', undefined)
  await expect.poll(() => net.answering(IP), WAIT).toEqual(['n2'])
  expect(one.conditions().join()).toContain('announcement-impaired')
  expect(one.announcements.state()?.problems.join()).toContain('interface n1-eth0 is absent')
  net.link.set('n1-eth0', { state: 'up', mac: '02:00:00:00:00:07' })
  await expect.poll(() => one.conditions(), WAIT).toEqual([])
  const excluded = nodeObject('n2', {
    'node.kubernetes.io/exclude-from-external-load-balancers': '',
  })
  two.take({ kind: 'node', name: 'n2', value: excluded })
  await expect.poll(() => net.answering(IP), WAIT).toEqual(['n1'])
  expect(two.announcements.explain(IP)).toContain('exclude-from-external-load-balancers')
  one.configure({ 'announcement.layer2': false })
  await expect.poll(() => net.answering(IP), WAIT).toEqual([])
  await expect
    .poll(async () => [...(await net.leases()).keys()], WAIT)
    .not.toContain('announcer-n1')
})

test('a node whose interface loses the address of the node gives up what it announces at once', async () => {
  const net = await network()
  const all = [await net.add('n1'), await net.add('n2')]
  for (const one of all) one.take(service([IP]))
  await expect.poll(() => net.answering(IP).length, WAIT).toBe(1)
  const [holder] = net.answering(IP)
  net.endRenewals()
  all.find(({ name }) => name === holder)!.addresses.set([])
  const other = holder === 'n1' ? 'n2' : 'n1'
  await expect.poll(() => net.answering(IP), WAIT).toEqual([other])
})

test('a node that could not read its addresses tries again', async () => {
  const net = await network()
  const one = await net.add('n1', { 'announcement.layer2': false })
  one.take(service([IP]))
  const list = vi.spyOn(one.addresses, 'list').mockRejectedValue(new Error('no netlink'))
  one.configure({ 'announcement.layer2': true })
  await published(net.api, 'n1')
  expect(one.lines.join()).toContain('announcing addresses failed')
  list.mockRestore()
  await expect.poll(() => net.answering(IP), WAIT).toEqual(['n1'])
})

test('addresses of nodes, of another class and of another proxy are not announced', async () => {
  const net = await network()
  const one = await net.add('n1', { 'announcement.loadBalancerClass': 'example.com/l2' })
  await net.add('n2')
  const loadBalancerClass = 'example.com/l2'
  one.take(
    service(['192.0.2.11', '192.0.2.12', IP], { loadBalancerClass }),
    service(['192.0.2.60'], {}, 'classless'),
    service(['192.0.2.61'], { loadBalancerClass: 'example.com/other' }, 'other'),
  )
  await expect.poll(() => net.answering(IP), WAIT).toEqual(['n1'])
  expect(one.announcements.state()).toEqual({ addresses: [IP], known: 1, problems: [] })
})

test('what a node is not permitted, or cannot do, is a condition; another host that answers, too', async () => {
  const forbidden = await network({ isPermitted: false })
  const refused = await forbidden.add('n1')
  refused.take(service([IP]))
  await expect
    .poll(() => refused.conditions().join(), WAIT)
    .toMatch(/announcement-impaired: .*Leases cannot be read or written: .*forbidden/)
  expect(refused.lines.filter((line) => line.includes('cannot list')).length).toBeLessThan(5)

  const net = await network()
  net.link.refusal = withoutRights()
  const one = await net.add('n1')
  one.take(service([IP]))
  await expect.poll(() => one.conditions().join(), WAIT).toContain('cannot open a packet socket')
  net.link.refusal = undefined
  await expect.poll(() => net.answering(IP), WAIT).toEqual(['n1'])
  net.link.announceAs(IP, '02:00:00:00:00:66')
  await expect
    .poll(() => one.conditions(), WAIT)
    .toEqual([expect.stringMatching(/^announcement-conflict: .*02:00:00:00:00:66 at n1-eth0/)])
})

test('an address that nobody announces for a while is a condition, unless it has no endpoint', async () => {
  const net = await network()
  const one = await net.add('n1')
  one.take(
    service([IP], { externalTrafficPolicy: 'Local' }),
    service([OTHER], { externalTrafficPolicy: 'Local' }, 'empty'),
    endpointsOn('n9'),
  )
  await expect
    .poll(() => one.conditions(), WAIT)
    .toEqual([
      expect.stringMatching(/^address-not-announced: no node announces 192.0.2.50 of shop/),
    ])
  one.take(endpointsOn('n1'))
  await expect.poll(() => one.conditions(), WAIT).toEqual([])
})

test('while the setting is off nothing is requested', async () => {
  const net = await network()
  const one = await net.add('n1', { 'announcement.layer2': false })
  one.take(service([IP]))
  expect([...(await net.leases())]).toEqual([])
  expect(one.announcements.state()).toBeUndefined()
  one.configure({ 'announcement.layer2': true })
  await expect.poll(() => net.answering(IP), WAIT).toEqual(['n1'])
})
