import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Upstream } from '../../dns/forward/upstream/upstream.ts'
import { openScene, type Scene } from '../../dns/testing/dns-scene.ts'
import { goldenQuestions } from '../../dns/testing/golden-questions.ts'
import { openSession, type Session } from '../session/open-session.ts'
import { ClusterObjects } from './cluster-objects.ts'
import { evaluate } from './evaluate.ts'
import { queryServer } from './query-server.ts'
import { QUERY_TYPES, type QueryType } from './question.ts'
import { type GoldenApi, openGoldenApi } from './testing/golden-api.ts'
import { comparedReply } from './walk.ts'

let golden: GoldenApi
let session: Session
let scene: Scene
let dns: Upstream

beforeAll(async () => {
  golden = await openGoldenApi()
  scene = await openScene()
  dns = { address: '127.0.0.1', port: scene.port }
  const flags = { server: golden.url }
  session = await openSession({ flags, env: {}, version: '1', notice: () => undefined })
})
afterAll(async () => {
  await session.close()
  await scene.close()
  golden.close()
})

const SLICES = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  singular: 'endpointslice',
  shortNames: [],
  namespaced: true,
  verbs: ['list'],
  categories: [],
  subresources: [],
}

/** Nothing is read yet. */
function unread(): ClusterObjects {
  const api = session.api
  return new ClusterObjects({
    api,
    endpoints: SLICES,
    domain: 'cluster.local',
    serverAddresses: [],
  })
}

const ofCluster = goldenQuestions().filter(
  ({ type, name }) => isQueryType(type) && !name.toLowerCase().includes('dns.cluster.local'),
)

function isQueryType(type: string): type is QueryType {
  return QUERY_TYPES.some((one) => one === type)
}

describe('the golden questions', () => {
  test('are most of them', () => {
    expect(ofCluster.length).toBeGreaterThan(130)
  })

  test.each(ofCluster)('$type $name: the objects that it reads are enough', async (one) => {
    const answer = await evaluate(one.name.toLowerCase(), one.type as QueryType, unread())
    const records = answer.records.map(({ name, type, data }) => `${name} ${type} ${data}`)
    expect(records.sort()).toEqual(one.answers)
    const code = { NOERROR: 'NOERROR', NODATA: 'NOERROR', NXDOMAIN: 'NXDOMAIN' }
    const expected = { ...code, FORWARDED: 'REFUSED', UNKNOWN: '' }[answer.status]
    expect(expected).toBe(one.status)
    expect(answer.reason === '').toBe(answer.status === 'NOERROR')
    expect(answer.records.filter(({ origin }) => origin.field.includes('-1'))).toEqual([])
  })

  test('the server answers the same, over TCP where a datagram is too short', async () => {
    const objects = unread()
    const signal = new AbortController().signal
    for (const { name, type } of [
      ...ofCluster,
      { name: 'many.shop.svc.cluster.local', type: 'A' },
    ]) {
      const answer = await evaluate(name.toLowerCase(), type as QueryType, objects)
      const reply = await queryServer(dns, name, type as QueryType, signal)
      expect([name, comparedReply(reply, answer).difference]).toEqual([name, ''])
    }
    expect(scene.statistics.questions.tcp).toBeGreaterThan(0)
  })
})

test('a failure of the server for a name outside is not as it should be', async () => {
  const answer = await evaluate('example.com', 'A', unread())
  const reply = (status: string) => ({ status, isReply: true, records: [] })
  expect(answer.status).toBe('FORWARDED')
  expect(comparedReply(reply('SERVFAIL'), answer).difference).toBe('its upstream brings no answer')
  expect(comparedReply(reply('REFUSED'), answer).difference).toBe('')
  expect(comparedReply(reply('NXDOMAIN'), answer).difference).toBe('')
})

const ZONE = 'svc.cluster.local'

test.each<[QueryType, string, string]>([
  ['A', 'wbe.shop', 'there is no Service wbe in namespace shop; near: web'],
  ['A', 'x.test', 'there is no Service x in namespace test; it has web'],
  ['A', 'x.none', 'there is no Service x in namespace none, which has no Services'],
  ['A', 'none', 'there is no namespace none with Services'],
  ['A', 'test', 'test is a namespace; a name in it begins with that of a Service: web'],
  ['AAAA', 'web.shop', 'Service shop/web has no IPv6 address; it has 10.96.0.10'],
  ['TXT', 'web.shop', 'Service shop/web has records of A, AAAA and SRV alone'],
  [
    ...(['SRV', '_x._tcp.web.shop'] as const),
    'Service shop/web has no such port; it has _http._tcp, _https._tcp, _statsd._udp',
  ],
  [
    ...(['SRV', '_x._tcp.plain.shop'] as const),
    'the port of Service shop/plain has no name, so it has no record of its own',
  ],
  ['A', '_http._tcp.web.shop', 'names of ports have records of type SRV alone'],
  ['A', '_sql._tcp.db.shop', 'names of ports have records of type SRV alone'],
  ['SRV', '_x._tcp.db.shop', 'headless Service shop/db has no endpoint with such a port'],
  [
    ...(['A', 'x.web.shop'] as const),
    'Service shop/web has a cluster IP, so its endpoints have no names; those of headless Services have',
  ],
  [
    ...(['A', 'asleep.shop'] as const),
    'headless Service shop/asleep has no ready endpoint, and publishNotReadyAddresses is not set; not ready: 10.244.3.1',
  ],
  [
    ...(['A', 'empty.shop'] as const),
    'headless Service shop/empty has no endpoints: no Pod matches its selector, or none has an address',
  ],
  [
    ...(['A', 'db-3.db.shop'] as const),
    'the endpoint db-3 of headless Service shop/db is not ready: 10.244.1.13; publishNotReadyAddresses is not set',
  ],
  [
    ...(['A', 'db-9.db.shop'] as const),
    'headless Service shop/db has no endpoint named db-9; it has db-0, db-1, 10-244-1-12',
  ],
  [
    ...(['A', 'db6.shop'] as const),
    'headless Service shop/db6 has no endpoint with an IPv4 address; it has 5678:abcd::1, 5678:abcd::2',
  ],
  [
    ...(['A', 'alias-lost.shop'] as const),
    'the alias leads to lost.shop.svc.cluster.local: there is no Service lost in namespace shop; it has alias, alias-lost, alias-of-alias, alias-of-db, alias-outside and 16 more',
  ],
  ['A', 'loop-a.shop', 'the aliases lead back to themselves, or are too many'],
  [
    'A',
    'a.outside.shop',
    'Service shop/outside is of type ExternalName, which has no names below it',
  ],
])('%s %s: %s', async (type, name, reason) => {
  const answer = await evaluate(`${name}.${ZONE}`, type, unread())
  expect(answer.reason).toBe(reason)
})

test.each<[QueryType, string, string]>([
  ['A', `web.shop.${ZONE}`, 'Service shop/web spec.clusterIPs[0]'],
  ['AAAA', `dual.shop.${ZONE}`, 'Service shop/dual spec.clusterIPs[1]'],
  ['SRV', `_https._tcp.web.shop.${ZONE}`, 'Service shop/web spec.ports[1]'],
  ['A', `db-1.db.shop.${ZONE}`, 'EndpointSlice shop/db-a endpoints[1]'],
  ['SRV', `_http._tcp.one.mixed.shop.${ZONE}`, ''],
  ['AAAA', `mixed.shop.${ZONE}`, 'EndpointSlice shop/mixed-b endpoints[0]'],
  ['PTR', '11.1.244.10.in-addr.arpa', 'EndpointSlice shop/db-a endpoints[1]'],
  ['PTR', '11.0.96.10.in-addr.arpa', 'Service shop/dual spec.clusterIPs[0]'],
  ['A', `outside.shop.${ZONE}`, 'Service shop/outside spec.externalName'],
  ['TXT', 'dns-version.cluster.local', 'Zone cluster.local '],
])('%s %s comes from %s', async (type, name, place) => {
  const { records } = await evaluate(name, type, unread())
  const [first] = records.map(({ origin }) => `${origin.kind} ${origin.name} ${origin.field}`)
  expect(first ?? '').toBe(place)
})
