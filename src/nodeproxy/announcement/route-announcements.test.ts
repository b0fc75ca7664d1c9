import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Open } from '../../announcement/bgp/open.ts'
import { FakePeer } from '../../announcement/bgp/testing/fake-peer.ts'
import { type ClusterEvent, ClusterStore } from '../../cluster/cluster-store.ts'
import type { InterfaceAddress } from '../../kernel/addresses.ts'
import { FakeAddresses } from '../../kernel/testing/fake-addresses.ts'
import { monotonicMs, systemClock } from '../../lib/clock.ts'
import { familyOf, type IpAddress } from '../../lib/ip.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeNode } from '../../resources/node.ts'
import { decodeService } from '../../resources/service.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import type { BgpPeerSettings } from '../config/fields/configuration.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { AnnouncedServices } from './announced-services.ts'
import { RouteAnnouncements } from './route-announcements.ts'

const V4 = '192.0.2.50' as IpAddress
const V6 = '2001:db8::50' as IpAddress
const LOOPBACK = '127.0.0.1' as IpAddress
const ADDRESSES = ['192.0.2.11', '2001:db8::11']
const WAIT = { timeout: 30_000, interval: 5 }
const OPEN: Open = {
  asn: 64_513,
  hasLongASN: true,
  holdTime: 90,
  routerID: '192.0.2.1' as IpAddress,
  families: [4, 6],
  hasRouteRefresh: true,
}

/** A router on loopback. */
async function router(open: Partial<Open> = {}) {
  const peer = new FakePeer({ ...OPEN, ...open })
  const sockets = new Set<Socket>()
  let sessions = 0
  let from = ''
  /** What it sends in place of answers. */
  let garbage: Uint8Array | undefined
  const server = createServer((socket) => {
    sessions += 1
    from = socket.remoteAddress ?? ''
    sockets.add(socket)
    peer.connect()
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (octets: Buffer) => {
      for (const answer of peer.take(octets)) socket.write(garbage ?? answer)
    })
  })
  const listen = async (port: number) => {
    server.listen(port, LOOPBACK)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  onTestFinished(close)
  const port = await listen(0)
  return {
    port,
    name: `${LOOPBACK}:${port}`,
    close,
    open: () => listen(port),
    held: () => [...peer.routes].map(([ip, { nextHop }]) => `${ip} ${nextHop}`).toSorted(),
    communities: () => [...peer.routes.values()].map(({ communities }) => communities),
    received: () => peer.received,
    ended: () => peer.ended,
    sessions: () => sessions,
    from: () => from,
    send(octets: Uint8Array) {
      garbage = octets
      for (const socket of sockets) socket.write(octets)
    },
    behave() {
      garbage = undefined
    },
  }
}

type Router = Awaited<ReturnType<typeof router>>

const settingsOf = (one: Router, more: Partial<BgpPeerSettings> = {}): BgpPeerSettings => ({
  address: LOOPBACK,
  port: one.port,
  asn: 64_513,
  sourceAddress: '',
  communities: [],
  ...more,
})

/** A node that announces to routers. */
function node(peers: readonly BgpPeerSettings[], more: Readonly<Record<string, unknown>> = {}) {
  const { log, lines } = recordingLog()
  const metrics = createMetrics()
  const cluster = new ClusterStore()
  const usual = {
    'announcement.bgp.localASN': 64_512,
    'announcement.bgp.connectRetry': 100,
    'announcement.bgp.peers': peers,
  }
  const holder = { current: configuration({ ...usual, ...more }) }
  const conditions = new Conditions({ log, metrics })
  const addresses = new FakeAddresses(ADDRESSES.map((ip) => addressOf(ip)))
  const applied: (() => void)[] = []
  const parts = { configuration: holder, clock: systemClock, cluster, metrics, conditions, log }
  const services: AnnouncedServices = new AnnouncedServices({
    ...parts,
    afterApply: (callback) => applied.push(callback),
    isRefused: () => false,
    isWanted: () => true,
    onChange: (isNodeChanged) => routes.changed(isNodeChanged),
  })
  const routes = new RouteAnnouncements({
    ...parts,
    services,
    addresses,
    monotonic: monotonicMs,
    nodeName: 'n1',
  })
  onTestFinished(() => routes.stop())
  routes.start()
  const take = (...events: readonly ClusterEvent[]) => {
    cluster.apply(events)
    services.takeCluster(events)
  }
  const apply = () => {
    for (const done of applied.splice(0)) done()
  }
  return {
    routes,
    addresses,
    lines,
    apply,
    /** Takes events that are in the kernel at once. */
    take(...events: readonly ClusterEvent[]) {
      take(...events)
      apply()
    },
    list(...events: readonly ClusterEvent[]) {
      take(nodeEvent(), ...events)
      services.clusterListed()
    },
    configure(values: Readonly<Record<string, unknown>>) {
      holder.current = configuration({ ...usual, ...more, ...values })
      routes.reconfigure()
    },
    conditions: () => conditions.current().map(({ reason, message }) => `${reason}: ${message}`),
    async metric(name: string) {
      routes.refreshMetrics()
      const text = await metrics.text()
      return text.split('\n').filter((line) => line.startsWith(`nodeproxy_${name}{`))
    },
  }
}

function addressOf(ip: string, device = 'eth0'): InterfaceAddress {
  const address = ip as IpAddress
  return { family: familyOf(address), ip: address, device, scope: 'global' }
}

function valueOf<T>(decoded: { readonly ok: true; readonly value: T } | { readonly ok: false }): T {
  if (!decoded.ok) throw new Error('not decoded')
  return decoded.value
}

function nodeEvent(addresses: readonly string[] = ADDRESSES, metadata: object = {}): ClusterEvent {
  const value = valueOf(
    decodeNode({
      metadata: { name: 'n1', ...metadata },
      spec: {},
      status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
    }),
  )
  return { kind: 'node', name: 'n1', value }
}

function service(ips: readonly string[], spec: object = {}, name = 'web'): ClusterEvent {
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

const ROUTE_V4 = `${V4} ${LOOPBACK}`
const ROUTE_V6 = `${V6} 2001:db8::11`

test('addresses of both families are told once the rules are in the kernel, and withdrawn at the end', async () => {
  const one = await router()
  const self = node([settingsOf(one)])
  self.list(service([V4, V6]))
  await expect.poll(() => self.routes.state()?.peers[0]?.state, WAIT).toBe('Established')
  expect(one.held()).toEqual([])
  expect(self.routes.explain(V4)).toMatch(/does not announce it by BGP: its rules are not complete/)
  self.apply()
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4, ROUTE_V6])
  expect(self.routes.explain(V4)).toBe(`this node announces it by BGP to ${one.name}`)
  expect(self.routes.explain('192.0.2.99' as IpAddress)).toBe(undefined)
  expect(self.routes.state()).toEqual({
    peers: [
      expect.objectContaining({ peer: one.name, asn: 64_513, routes: [V4, V6], failure: '' }),
    ],
    problems: [],
  })
  expect(await self.metric('bgp_session_up')).toEqual([
    `nodeproxy_bgp_session_up{peer="${one.name}"} 1`,
  ])
  expect(await self.metric('bgp_advertised_routes')).toEqual([
    `nodeproxy_bgp_advertised_routes{peer="${one.name}"} 2`,
  ])
  expect((await self.metric('bgp_messages_total')).join()).toMatch(
    /direction="sent",kind="update"} 2/,
  )
  await self.routes.stop()
  expect(one.held()).toEqual([])
  expect(one.received().slice(-3)).toEqual(['update', 'update', 'notification'])
  expect(await self.metric('bgp_session_up')).toEqual([])
  expect(self.conditions()).toEqual([])
})

test('routes follow endpoints, the Node object and addresses of this node', async () => {
  const one = await router()
  const self = node([settingsOf(one)])
  self.list(service([V4], { externalTrafficPolicy: 'Local' }), endpointsOn('n2'))
  self.take(service([V6], {}, 'other'))
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V6])
  expect(self.routes.explain(V4)).toMatch(/it has no endpoint that is ready/)
  self.take(endpointsOn('n1', 'n2'))
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4, ROUTE_V6])
  const labels = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' }
  self.take(nodeEvent(ADDRESSES, { labels }))
  await expect.poll(one.held, WAIT).toEqual([])
  expect(self.routes.explain(V4)).toMatch(/it has the label exclude-from-external/)
  self.take(nodeEvent())
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4, ROUTE_V6])
  self.take(nodeEvent(ADDRESSES, { deletionTimestamp: '2026-01-01T00:00:00Z' }))
  await expect.poll(one.held, WAIT).toEqual([])
  self.take(nodeEvent())
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4, ROUTE_V6])
  self.addresses.set([...ADDRESSES, V4].map((ip) => addressOf(ip)))
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V6])
  expect(self.routes.explain(V4)).toMatch(/it is an address of this node/)
  self.configure({ 'announcement.loadBalancerClass': 'example.com/bgp' })
  await expect.poll(one.held, WAIT).toEqual([])
  expect(self.routes.explain(V4)).toBe(undefined)
  expect(one.sessions()).toBe(1)
})

test('a changed configuration ends, opens and keeps sessions', async () => {
  const [one, two] = [await router(), await router()]
  const self = node([settingsOf(one)])
  self.list(service([V4]))
  self.apply()
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4])
  const communities = { 'announcement.bgp.communities': ['64512:1'] }
  const both = [settingsOf(one), settingsOf(two, { communities: ['64512:1:2'] })]
  self.configure({ ...communities, 'announcement.bgp.peers': both })
  await expect.poll(one.communities, WAIT).toEqual(['fc000001 '])
  await expect.poll(two.communities, WAIT).toEqual(['fc000001 0000fc000000000100000002'])
  expect([one.sessions(), two.sessions()]).toEqual([1, 1])
  const source = settingsOf(two, { sourceAddress: '127.0.0.7' })
  self.configure({ 'announcement.bgp.peers': [source] })
  await expect.poll(two.held, WAIT).toEqual([`${V4} 127.0.0.7`])
  expect([one.held(), two.from()]).toEqual([[], '127.0.0.7'])
  expect(one.ended()).toBe('cease: peer de-configured')
  expect(two.ended()).toBe('cease: other configuration change')
  self.configure({ 'announcement.bgp.peers': [] })
  await expect.poll(two.held, WAIT).toEqual([])
  expect([self.routes.state(), self.routes.explain(V4)]).toEqual([undefined, undefined])
})

test('a peer that is away, of another AS, or sends anything else is a condition, and harms no other', async () => {
  const [one, two] = [await router({ asn: 64_999 }), await router()]
  const self = node([settingsOf(one), settingsOf(two)])
  self.list(service([V4]))
  self.apply()
  const bad = (reason: string) => [
    expect.stringContaining(`BGP peer ${one.name} of AS 64513 is not established: ${reason}`),
  ]
  await expect.poll(self.conditions, WAIT).toEqual(bad('it is of AS 64999'))
  expect(self.routes.state()?.problems).toEqual(bad('it is of AS 64999'))
  await expect.poll(two.held, WAIT).toEqual([ROUTE_V4])
  one.send(new Uint8Array(4_000))
  await expect
    .poll(self.conditions, WAIT)
    .toEqual(bad('this node ended the session: message header'))
  await expect.poll(one.ended, WAIT).toMatch(/^message header error/)
  await one.close()
  await expect.poll(self.conditions, WAIT).toEqual(bad('it refuses connections'))
  one.behave()
  await one.open()
  self.configure({
    'announcement.bgp.peers': [settingsOf(one, { asn: 64_999 }), settingsOf(two)],
  })
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4])
  await expect.poll(self.conditions, WAIT).toEqual([])
  expect([two.sessions(), two.held()]).toEqual([1, [ROUTE_V4]])
  const changes = (await self.metric('bgp_session_changes_total')).toSorted()
  expect(changes.map((line) => line.replace(/.*change=/, ''))).toEqual([
    '"established"} 1',
    '"established"} 1',
  ])
})

test('a session that ends comes back', async () => {
  const one = await router()
  const self = node([settingsOf(one)])
  self.list(service([V4]))
  self.apply()
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4])
  await one.close()
  await expect.poll(self.conditions, WAIT).toEqual([expect.stringContaining('bgp-peer-down')])
  const foreign = { loadBalancerClass: 'example.com/other', externalTrafficPolicy: 'Local' }
  self.take(service([V4], foreign, 'foreign'))
  expect(self.routes.explain(V4)).toMatch(
    /does not announce it by BGP: BGP peer .* not established/,
  )
  await one.open()
  await expect.poll(one.sessions, WAIT).toBe(2)
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4])
})

test('a node that could not read its addresses tries again', async () => {
  const one = await router()
  const self = node([])
  self.list(service([V4]))
  self.apply()
  const list = vi.spyOn(self.addresses, 'list').mockRejectedValue(new Error('no netlink'))
  self.configure({ 'announcement.bgp.peers': [settingsOf(one)] })
  await expect.poll(() => self.lines.join(), WAIT).toContain('announcing addresses by BGP failed')
  list.mockRestore()
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4])
})

test('what a family or the router ID lacks is a condition', async () => {
  const [one, two] = [await router(), await router({ families: [4] })]
  const self = node([settingsOf(one), settingsOf(two)])
  self.list(service([V4, V6]))
  self.apply()
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4, ROUTE_V6])
  await expect.poll(two.held, WAIT).toEqual([ROUTE_V4])
  const impaired = (text: string) => [expect.stringContaining(`bgp-impaired: ${text}`)]
  await expect
    .poll(self.conditions, WAIT)
    .toEqual(impaired(`IPv6 addresses are not announced to BGP peer ${two.name}: it takes no IPv6`))
  self.take(nodeEvent(['192.0.2.11']))
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4])
  await expect
    .poll(self.conditions, WAIT)
    .toEqual(impaired(`IPv6 addresses are not announced to BGP peer ${one.name}: the Node object`))
  self.take(nodeEvent(['2001:db8::11']))
  await expect.poll(self.conditions, WAIT).toEqual(impaired('no BGP session is opened: the Node'))
  self.configure({ 'announcement.bgp.routerID': '192.0.2.7' })
  await expect.poll(one.held, WAIT).toEqual([ROUTE_V4, ROUTE_V6])
})

test('the next hop of the other family is at the same interface, if it can be', async () => {
  const one = await router()
  const self = node([settingsOf(one)])
  const other = '2001:db8::12'
  self.addresses.set([addressOf(LOOPBACK, 'lo'), addressOf('2001:db8::11'), addressOf(other, 'lo')])
  self.list(nodeEvent([...ADDRESSES, other]), service([V6]))
  self.apply()
  await expect.poll(one.held, WAIT).toEqual([`${V6} ${other}`])
})
