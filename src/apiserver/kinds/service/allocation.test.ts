import { expect, test } from 'vitest'
import type { IpAddress } from '../../../lib/ip.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
  without,
} from '../../../lib/json.ts'
import { createAddressRange } from '../../allocation/address-range.ts'
import { SERVICES, service, startApi, type TestApi } from '../../testing/test-api.ts'

const LOCAL = { externalTrafficPolicy: 'Local' }

async function refusal(api: TestApi, spec: JsonObject): Promise<string> {
  const { status, body } = await api.call('POST', SERVICES, { body: service('refused', spec) })
  expect(status).toBe(422)
  return stringAt(body, 'message')
}

async function change(api: TestApi, name: string, spec: JsonObject): Promise<JsonObject> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const answer = await api.call('PATCH', `${SERVICES}/${name}`, { body: { spec }, headers })
  expect([answer.status, answer.text]).toEqual([200, answer.text])
  return answer.body
}

function nodePorts(object: JsonObject): readonly (Json | undefined)[] {
  return arrayAt(object, 'spec', 'ports').map((port) => valueAt(port, 'nodePort'))
}

test('a range leaves out its network and broadcast address', () => {
  const range = createAddressRange('10.0.0.0/29')
  const all = Array.from({ length: range.size }, (_, index) => range.at(index))
  expect(all).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6'])
  expect(all.every((ip) => range.contains(ip))).toBe(true)
  const six = createAddressRange('fd00:1::/112')
  expect([six.size, six.at(0), six.at(0xfffe)]).toEqual([65_535, 'fd00:1::1', 'fd00:1::ffff'])
  expect(createAddressRange('10.0.255.0/16').at(255)).toBe('10.0.1.0')
  const half = createAddressRange('64.0.0.0/3')
  const [inner, broadcast] = ['79.255.255.255', '95.255.255.255'] as IpAddress[]
  expect([half.contains(inner!), half.contains(broadcast!)]).toEqual([true, false])
  for (const text of [
    '10.0.0.0',
    '10.0.0.1/32',
    'x/8',
    '010.0.0.0/8',
    '0.0.0.0/0',
    '127.0.0.0/24',
  ]) {
    expect(() => createAddressRange(text)).toThrow('is not a Service address range')
  }
})

test('every Service gets an address of its own until the range is full, and gives it back', async () => {
  const api = await startApi({ serviceAddressRanges: ['10.0.0.0/29'] })
  const ips = new Set<unknown>()
  for (let index = 0; index < 6; index++) {
    ips.add(valueAt(await api.make(SERVICES, service(`s${index}`)), 'spec', 'clusterIP'))
  }
  expect(ips.size).toBe(6)
  expect(await refusal(api, {})).toContain('range 10.0.0.0/29 is full')
  await api.call('DELETE', `${SERVICES}/s3`)
  const again = valueAt(await api.make(SERVICES, service('s6')), 'spec', 'clusterIP')
  expect(ips.has(again)).toBe(true)
})

test('concurrent creates never share an address or a port', async () => {
  const api = await startApi({
    serviceAddressRanges: ['10.0.0.0/27'],
    nodePortRange: { first: 3000, last: 3029 },
  })
  const bodies = Array.from({ length: 40 }, (_, index) =>
    service(`s${index}`, { type: 'NodePort' }),
  )
  const answers = await Promise.all(bodies.map((body) => api.call('POST', SERVICES, { body })))
  const made = answers.filter((answer) => answer.status === 201).map((answer) => answer.body)
  expect(made).toHaveLength(30)
  expect(new Set(made.map((object) => valueAt(object, 'spec', 'clusterIP'))).size).toBe(30)
  expect(new Set(made.flatMap(nodePorts)).size).toBe(30)
})

test('of twenty requests for one node port exactly one succeeds', async () => {
  const api = await startApi()
  const bodies = Array.from({ length: 20 }, (_, index) =>
    service(`s${index}`, { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] }),
  )
  const answers = await Promise.all(bodies.map((body) => api.call('POST', SERVICES, { body })))
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
  const refused = answers.find((answer) => answer.status === 422)
  expect(refused?.body['message']).toContain(
    'spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
  )
})

test('addresses and requested ports must be free and in range', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web', { clusterIP: '10.96.0.10' }))
  expect(objectAt(made, 'spec')).toMatchObject({
    clusterIP: '10.96.0.10',
    clusterIPs: ['10.96.0.10'],
    ipFamilies: ['IPv4'],
  })
  expect(await refusal(api, { clusterIP: '10.96.0.10' })).toContain(
    'spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
  )
  expect(await refusal(api, { clusterIP: '10.97.0.1' })).toContain(
    'not in the valid range. The range of valid IPs is 10.96.0.0/16',
  )
  expect(await refusal(api, { clusterIP: '10.96.0.0' })).toContain('not in the valid range')
  expect(await refusal(api, { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.2'] })).toContain(
    'the first one must equal spec.clusterIP',
  )
  expect(await refusal(api, { clusterIP: 'fd00::1' })).toContain('no Service range of that family')
  expect(await refusal(api, { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] })).toContain(
    'The range of valid ports is 30000-32767',
  )
  expect(await refusal(api, { ports: [{ port: 80, nodePort: 30_001 }] })).toContain(
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  )
  for (const ip of ['10.96.0.44', 'None']) {
    expect(await refusal(api, { clusterIPs: [ip] })).toContain(
      `spec.clusterIPs: Invalid value: ["${ip}"]: must be empty when \`clusterIP\` is not specified`,
    )
  }
})

test('a refused create leaks nothing', async () => {
  const api = await startApi()
  const spec = {
    type: 'NodePort',
    clusterIP: '10.96.0.10',
    ports: [{ port: 80, nodePort: 30_080 }],
  }
  await api.make(
    SERVICES,
    service('taken', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] }),
  )
  await refusal(api, spec)
  const { body: missing } = await api.call('POST', SERVICES.replace('default', 'nowhere'), {
    body: service('x', { clusterIP: '10.96.0.10' }),
  })
  expect(missing['code']).toBe(404)
  await api.make(SERVICES, service('web', { clusterIP: '10.96.0.10' }))
})

test('dual stack gives one address per family, primary first', async () => {
  const api = await startApi({ serviceAddressRanges: ['10.96.0.0/16', 'fd00:96::/112'] })
  const single = await api.make(SERVICES, service('single'))
  expect(arrayAt(single, 'spec', 'clusterIPs')).toHaveLength(1)
  const dual = await api.make(SERVICES, service('dual', { ipFamilyPolicy: 'PreferDualStack' }))
  expect(objectAt(dual, 'spec')['ipFamilies']).toEqual(['IPv4', 'IPv6'])
  const six = await api.make(SERVICES, service('six', { ipFamilies: ['IPv6'] }))
  expect(stringAt(six, 'spec', 'clusterIP')).toMatch(/^fd00:96::/)
  const requested = ['fd00:96::10', '10.96.0.10']
  const both = await api.make(
    SERVICES,
    service('both', { clusterIP: requested[0]!, clusterIPs: requested }),
  )
  expect(objectAt(both, 'spec')).toMatchObject({
    clusterIP: requested[0]!,
    clusterIPs: requested,
    ipFamilies: ['IPv6', 'IPv4'],
  })
  const upgraded = await change(api, 'single', {
    ipFamilyPolicy: 'PreferDualStack',
    ipFamilies: null,
    clusterIPs: null,
  })
  expect(arrayAt(upgraded, 'spec', 'clusterIPs')[0]).toBe(valueAt(single, 'spec', 'clusterIP'))
  expect(arrayAt(upgraded, 'spec', 'clusterIPs')).toHaveLength(2)
})

test('RequireDualStack needs two ranges', async () => {
  const api = await startApi()
  expect(await refusal(api, { ipFamilyPolicy: 'RequireDualStack' })).toContain(
    'no Service range of that family',
  )
})

test('an address is kept through updates and may not change', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const { clusterIP: _ip, clusterIPs: _ips, ...rest } = objectAt(made, 'spec')
  const put = await api.call('PUT', `${SERVICES}/web`, {
    body: { ...made, spec: { ...rest, sessionAffinity: 'ClientIP' } },
  })
  expect(put.status).toBe(200)
  expect(valueAt(put.body, 'spec', 'clusterIP')).toBe(valueAt(made, 'spec', 'clusterIP'))
  const moved = {
    ...put.body,
    spec: { ...objectAt(put.body, 'spec'), clusterIP: '10.96.0.99', clusterIPs: ['10.96.0.99'] },
  }
  const answer = await api.call('PUT', `${SERVICES}/web`, { body: moved })
  expect([answer.status, answer.body['message']]).toEqual([
    422,
    expect.stringContaining('may not change once set'),
  ])
})

test('headless and ExternalName Services have no address, and a change of type releases it', async () => {
  const api = await startApi()
  const headless = await api.make(SERVICES, service('headless', { clusterIP: 'None' }))
  expect(objectAt(headless, 'spec')).toMatchObject({ clusterIP: 'None', clusterIPs: ['None'] })
  await api.make(SERVICES, service('web', { clusterIP: '10.96.0.10' }))
  const external = await change(api, 'web', { type: 'ExternalName', externalName: 'example.com' })
  expect(objectAt(external, 'spec')).not.toHaveProperty('clusterIP')
  await api.make(SERVICES, service('other', { clusterIP: '10.96.0.10' }))
  const back = await change(api, 'web', { type: 'ClusterIP', externalName: null })
  expect(stringAt(back, 'spec', 'clusterIP')).toMatch(/^10\.96\./)
})

test('node ports come and go with the type, and survive an update that omits them', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web', { type: 'NodePort' }))
  const [port] = nodePorts(made)
  expect(port).toBeGreaterThanOrEqual(30_000)
  expect(nodePorts(await change(api, 'web', { ports: [{ port: 80, name: 'named' }] }))).toEqual([
    port,
  ])
  expect(nodePorts(await change(api, 'web', { type: 'ClusterIP' }))).toEqual([undefined])
  await api.make(
    SERVICES,
    service('next', { type: 'NodePort', ports: [{ port: 80, nodePort: port! }] }),
  )
})

test('TCP and UDP of one Service share a number', async () => {
  const api = await startApi()
  const ports = [
    { name: 'tcp', port: 53, protocol: 'TCP' },
    { name: 'udp', port: 53, protocol: 'UDP' },
  ]
  const made = await api.make(SERVICES, service('dns', { type: 'NodePort', ports }))
  expect(new Set(nodePorts(made)).size).toBe(1)
})

test('a local load balancer has a health check port of the same pool, and loses it', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('lb', { type: 'LoadBalancer', ...LOCAL }))
  const port = valueAt(made, 'spec', 'healthCheckNodePort')
  expect(port).toBeGreaterThanOrEqual(30_000)
  const spec = { type: 'NodePort', ports: [{ port: 80, nodePort: port! }] }
  expect(await refusal(api, spec)).toContain('already allocated')
  const changed = await change(api, 'lb', { externalTrafficPolicy: 'Cluster' })
  expect(objectAt(changed, 'spec')).not.toHaveProperty('healthCheckNodePort')
  await api.make(SERVICES, service('web', spec))
  const bare = await api.make(
    SERVICES,
    service('bare', { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }),
  )
  expect(nodePorts(bare)).toEqual([undefined])
})

test('a Service has no more node ports than one transaction of every store can give', async () => {
  const api = await startApi()
  const portsFrom = (first: number, count: number): JsonObject[] =>
    Array.from({ length: count }, (_, index) => ({
      name: `p${index}`,
      port: 1000 + index,
      nodePort: first + index,
    }))
  const most = { type: 'NodePort', ports: portsFrom(30_000, 119) }
  await api.make(SERVICES, service('many', most))
  expect(await refusal(api, { type: 'NodePort', ports: portsFrom(31_000, 120) })).toContain(
    'spec.ports: Invalid value: "120 ports": one write may give and take 120 addresses and node ports, this one takes 121',
  )
  await api.make(
    SERVICES,
    service('inner', { ports: portsFrom(0, 200).map((port) => without(port, 'nodePort')) }),
  )
  const headers = { 'content-type': 'application/merge-patch+json' }
  for (const ports of [portsFrom(31_000, 119), portsFrom(30_000, 120)]) {
    const body = { spec: { ports } }
    expect((await api.call('PATCH', `${SERVICES}/many`, { body, headers })).status).toBe(422)
  }
  expect((await api.call('DELETE', `${SERVICES}/many`)).status).toBe(200)
})
