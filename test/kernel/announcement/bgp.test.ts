import { afterAll, beforeAll, expect, test } from 'vitest'
import { METRIC_TABLE, PREFIX } from '../../../src/telemetry/metrics/registry.ts'
import { loadBalancer, podsOf } from '../../support/announcement/announcing-cluster.ts'
import {
  NODE_ASN,
  NODES,
  type NodeName,
  ROUTER,
  ROUTER_ASN,
  RoutedNodes,
} from '../../support/announcement/routed-nodes.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { slice } from '../../support/lab/objects.ts'
import { installMissing } from '../../support/on-demand/install-missing.ts'

const WEB = ['203.0.113.50', '2001:db8:5::50'] as const
const LOCAL = '203.0.113.51'
const PEER = { address: ROUTER.v4, asn: ROUTER_ASN, communities: ['64512:1:2'] }
const BGP = {
  localASN: NODE_ASN,
  holdTime: '6s',
  connectRetry: '500ms',
  communities: ['64512:100'],
  peers: [PEER],
}
const STOPS = Number(process.env['NP_KILLS'] ?? 1)
const WAIT = { timeout: 60_000, interval: 20 }
const lab = new RoutedNodes()

beforeAll(async () => {
  await installMissing('bgp', { bird2: '/usr/sbin/bird', frr: '/usr/lib/frr/bgpd' })
  await lab.start(BGP)
  await lab.api.apply(loadBalancer('web', WEB), ...podsOf('web', ['v4', 'v6']))
  // With policy Cluster an address without endpoints is announced, too, and refuses connections.
  await Promise.all(NODES.map((name) => lab.daemon(name).synced()))
})

afterAll(() => lab.stop())

/** Endpoints of the Service with policy Local on these nodes. */
function local(...nodes: readonly NodeName[]) {
  const endpoints = nodes.map((node) => ({ ip: `10.244.${NODES.indexOf(node) + 1}.2`, node }))
  return slice('shop/local', endpoints, { suffix: 'v4' })
}

const conditionsOf = async (node: NodeName) => (await lab.conditions(node)).join('\n')

test('routers send packets of both families to both nodes', async () => {
  await lab.routed(WEB, NODES)
  for (const ip of WEB) {
    const outcomes = await lab.connect(ip, 60)
    const seen = outcomes.map((one) => (one.kind === 'answered' ? one.peer : one.kind))
    const nodes = new Set(seen.map((peer) => peer.replace(/:\d+$/, '')))
    expect(outcomes.filter(({ kind }) => kind !== 'answered')).toEqual([])
    expect(nodes.size).toBe(2)
  }
  const routes = await lab.birdc('show', 'route', 'all', 'for', WEB[0])
  expect(routes).toContain(`BGP.as_path: ${NODE_ASN}`)
  expect(routes).toContain('BGP.community: (64512,100)')
  expect(routes).toContain('BGP.large_community: (64512, 1, 2)')
  const v6 = await lab.birdc('show', 'route', 'all', 'for', WEB[1])
  expect(v6).toContain('BGP.next_hop: 2001:db8::11')
  expect(v6).toContain('BGP.large_community: (64512, 1, 2)')
})

test('node-proxy says to whom it announces what', async () => {
  const status = await lab.command('n1', 'status')
  expect(status).toMatch(
    /^BGP +192\.0\.2\.1 of AS 64512 Established for .*2 routes: .*203\.0\.113\.50/m,
  )
  const explained = await lab.command('n1', 'explain', '198.51.100.2', `${WEB[0]}:80`)
  expect(explained).toContain('on the network: this node announces it by BGP to 192.0.2.1')
})

test('with policy Local the routes follow the endpoints', async () => {
  const spec = { externalTrafficPolicy: 'Local' }
  await lab.api.apply(loadBalancer('local', [LOCAL], spec), local('n1'))
  for (const nodes of [['n1'], ['n2'], ['n1', 'n2'], []] as const) {
    await lab.api.apply(local(...nodes))
    await lab.routed([LOCAL], nodes)
    const outcomes = await lab.connect(LOCAL, nodes.length > 0 ? 30 : 0)
    const names = outcomes.map((one) => (one.kind === 'answered' ? one.name : one.kind))
    expect([...new Set(names)].toSorted()).toEqual([...nodes])
  }
})

/** Routers spread anew when nodes leave or come: a connection that is open just then may meet a node that does not know it. */
const OPEN_JUST_THEN = 1

test(`a node that ends by SIGTERM withdraws first, and no new connection fails, ${STOPS} times`, async () => {
  for (let stop = 0; stop < STOPS; stop += 1) {
    const end = await lab.load(WEB[0])
    expect(await lab.daemon('n1').stop()).toBe(0)
    await lab.routed(WEB, ['n2'])
    const { failures } = await end()
    expect(failures.slice(OPEN_JUST_THEN)).toEqual([])
    await lab.startDaemon('n1', BGP)
    await lab.routed(WEB, NODES)
  }
}, 3_600_000)

test('a node that dies is left out when the hold time is over', async () => {
  const from = performance.now()
  await Promise.all([lab.plug('n2', false), lab.daemon('n2').kill()])
  await lab.routed(WEB, ['n1'])
  const seconds = (performance.now() - from) / 1_000
  process.stderr.write(`routes without a node that died after ${seconds.toFixed(1)} s\n`)
  const outcomes = await lab.connect(WEB[0], 20)
  expect(outcomes.filter(({ kind }) => kind !== 'answered')).toEqual([])
  await lab.plug('n2', true)
  await lab.startDaemon('n2', BGP)
  await lab.routed(WEB, NODES)
})

test('a router that comes back is told everything again; meanwhile a condition says why', async () => {
  await lab.killRouter()
  await expect
    .poll(() => conditionsOf('n1'), WAIT)
    .toContain(
      `BGP peer ${ROUTER.v4} of AS ${ROUTER_ASN} is not established: it refuses connections`,
    )
  await lab.startRouter()
  await lab.routed(WEB, NODES)
  await expect.poll(() => conditionsOf('n1'), WAIT).not.toContain('BGP peer')
})

test('a wrong AS number is a condition of the node, whoever notices', async () => {
  lab.configure('n1', { ...BGP, peers: [{ ...PEER, asn: 64_999 }] })
  await expect
    .poll(() => conditionsOf('n1'), WAIT)
    .toContain(`it is of AS ${ROUTER_ASN}, and announcement.bgp.peers has 64999`)
  await lab.routed(WEB, ['n2'])
  lab.configure('n1', { ...BGP, localASN: 64_998 })
  await expect
    .poll(() => conditionsOf('n1'), WAIT)
    .toContain('OPEN message error: bad peer AS; its configuration expects another AS')
  lab.configure('n1', BGP)
  await lab.routed(WEB, NODES)
})

test('changed communities are announced without a new session', async () => {
  const since = async () => (await lab.birdc('show', 'protocols', 'n1')).match(/up +(\S+)/)?.[1]
  const before = await since()
  lab.configure('n1', { ...BGP, communities: ['64512:7'] })
  await expect
    .poll(() => lab.birdc('show', 'route', 'all', 'for', WEB[0]), WAIT)
    .toContain('BGP.community: (64512,7)')
  expect(await since()).toBe(before)
  lab.configure('n1', { ...BGP, peers: [] })
  await lab.routed(WEB, ['n2'])
  lab.configure('n1', BGP)
  await lab.routed(WEB, NODES)
})

test('every metric of routers moved', async () => {
  const samples = await lab.daemon('n1').metrics()
  const names = Object.values(METRIC_TABLE)
    .map(({ name }) => `${PREFIX}${name}`)
    .filter((name) => name.startsWith(`${PREFIX}bgp_`))
  expect(names).toHaveLength(4)
  expect(names.filter((name) => sumOf(samples, name) === 0)).toEqual([])
})

test('FRR takes the same routes', async () => {
  await lab.killRouter()
  expect(await lab.nextHops(WEB[0])).toEqual([])
  await lab.startFrr()
  await lab.routed(WEB, NODES)
  for (const [family, prefix] of [
    ['ipv4', `${WEB[0]}/32`],
    ['ipv6', `${WEB[1]}/128`],
  ]) {
    const route = await lab.vtysh(`show bgp ${family} unicast ${prefix}`)
    expect(route).toContain('Community: 64512:100')
    expect(route).toContain('Large Community: 64512:1:2')
  }
  const outcomes = await lab.connect(WEB[1], 20)
  expect(outcomes.filter(({ kind }) => kind !== 'answered')).toEqual([])
  expect(await lab.daemon('n2').stop()).toBe(0)
  await lab.routed(WEB, ['n1'])
})
