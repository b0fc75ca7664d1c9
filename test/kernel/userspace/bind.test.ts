import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ConnectOutcome, ConnectRequest } from '../../support/agent/protocol.ts'
import { type Deployment, deploy, deployAll, redeploy } from '../../support/flows/deploy.ts'
import type { ProxyConfig } from '../../support/lab/daemon-config.ts'
import { createLab, type Lab } from '../../support/lab/lab.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { netState } from '../../support/lab/net-state.ts'
import { type EndpointSpec, slice } from '../../support/lab/objects.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'

/** An ordinary user serves Services at addresses of the machine; the kernel holds nothing of it. */
const UNPRIVILEGED_UID = 65_534
const BINDINGS = [
  '127.0.0.1:8080=ns/web:http',
  '[::1]:8081=ns/web:http',
  '127.0.0.1:5353=ns/dns:query/UDP',
] as const
const FOUR = ['10.180.2.1', '10.180.2.2', '10.180.2.3']
const SIX = ['fd00:10:180:2::1', 'fd00:10:180:2::2']

let lab: Lab
let untouched: readonly string[]
beforeAll(async () => {
  lab = await createLab()
  untouched = await netState(lab.node)
})
afterAll(() => lab?.close())
afterEach(async () => {
  expect(await netState(lab.node)).toEqual(untouched)
})

const far = (ips: readonly string[]) => ips.map((ip): EndpointSpec => ({ ip, node: 'far' }))

const SERVICE: Deployment = {
  key: 'ns/web',
  clusterIP: '172.30.50.1',
  endpoints: far(FOUR),
  ports: [{ name: 'http', port: 80, targetPort: 8000 }],
  spec: { clusterIPs: ['172.30.50.1', 'fd00:172:30::50'], ipFamilies: ['IPv4', 'IPv6'] },
}

const DNS: Deployment = {
  key: 'ns/dns',
  clusterIP: '172.30.50.2',
  endpoints: far(FOUR),
  ports: [{ name: 'query', port: 53, protocol: 'UDP' }],
}

async function deployBoth(): Promise<void> {
  const ports = [{ protocol: 'TCP', port: 8000 }] as const
  for (const ip of SIX) await lab.serve({ ip, local: false, ports })
  await lab.api.apply(
    slice('ns/web', far(SIX), { ports: [{ name: 'http', port: 8000 }], suffix: '6' }),
  )
  await deployAll(lab, [SERVICE, DNS])
}

function config(dataPath: string, more: readonly string[] = [], rest: object = {}): ProxyConfig {
  const bindMap = [...BINDINGS, ...more]
  return { mode: 'userspace', userspace: { dataPath, bindMap, ...rest } }
}

const WEB = { protocol: 'TCP', source: '127.0.0.1', destination: '127.0.0.1', port: 8080 } as const
const WEB_SIX = { protocol: 'TCP', source: '::1', destination: '::1', port: 8081 } as const
const QUERY = { ...WEB, protocol: 'UDP', port: 5353 } as const

/** Without the sinks of the lab, which would take the place of a listener that is away. */
const query = (request: ConnectRequest) => lab.node.agent.call('connect', request)
const nameOf = (outcome: ConnectOutcome) =>
  outcome.kind === 'answered' ? outcome.name : outcome.kind
const names = async (request: ConnectRequest) => (await query(request)).map(nameOf)
const distinct = async (request: ConnectRequest) =>
  new Set(await names({ attempts: 12, parallel: 1, ...request }))
const servers = (ips: readonly string[], port: number) =>
  new Set(ips.map((ip) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)))

/** Status and body of /readyz. */
async function ready(): Promise<string> {
  const { status, body } = await lab.daemon.http(10256, '/readyz')
  return `${status} ${body}`
}

async function expectServed(): Promise<void> {
  expect(await distinct(WEB)).toEqual(servers(FOUR, 8000))
  expect(await distinct(WEB_SIX)).toEqual(servers(SIX, 8000))
  expect(await distinct(QUERY)).toEqual(servers(FOUR, 53))
}

describe.each(['native', 'javascript'] as const)('%s', (dataPath) => {
  beforeAll(async () => {
    await lab.daemon.start({ config: config(dataPath), user: UNPRIVILEGED_UID })
  })
  afterAll(() => lab.daemon.kill())
  beforeEach(deployBoth)

  test('each endpoint of the right family has its turn', async () => {
    expect(lab.daemon.logs()).toContain('NP_NODEPROXY_UNPRIVILEGED')
    const { body } = await lab.daemon.http(10249, '/proxyMode')
    expect(body).toBe(`userspace (${dataPath})`)
    await expectServed()
  })

  test('a client sticks to its endpoint, others have theirs', async () => {
    await deploy(lab, { ...SERVICE, spec: { ...SERVICE.spec, sessionAffinity: 'ClientIP' } })
    const clients = Array.from({ length: 9 }, (_, n) => ({ ...WEB, source: `127.0.0.${n + 2}` }))
    const first = await Promise.all(clients.map(names))
    expect(new Set(first.flat())).toEqual(servers(FOUR, 8000))
    for (const [index, client] of clients.entries()) {
      expect(await distinct(client)).toEqual(new Set(first[index]))
    }
  })

  test('an endpoint that leaves keeps what it has and gets nothing new', async () => {
    const { agent } = lab.node
    const { id, alive } = await agent.call('holdOpen', { ...WEB, count: 6, everyMs: 100 })
    expect(new Set(Object.keys(alive))).toEqual(servers(FOUR, 8000))
    await redeploy(lab, { ...SERVICE, endpoints: far(FOUR.slice(1)) })
    expect(await distinct(WEB)).toEqual(servers(FOUR.slice(1), 8000))
    expect(await agent.call('holdCheck', { id })).toMatchObject({ alive, lost: [] })
    await agent.call('holdEnd', { id, how: 'reset' })
  })

  test('a Service that is deleted is refused until it comes back', async () => {
    for (const key of ['ns/web', 'ns/dns']) await lab.api.remove('Service', key)
    await lab.daemon.synced()
    for (const request of [WEB, WEB_SIX, QUERY]) expect(await names(request)).toEqual(['refused'])
    await deployBoth()
    await expectServed()
  })

  test('a further binding is served at once, and disturbs no other', async () => {
    const { agent } = lab.node
    const { id } = await agent.call('holdOpen', { ...WEB, count: 6, everyMs: 100 })
    const added = { ...WEB, destination: '192.168.0.2', source: '192.168.0.2', port: 8082 }
    expect(await names(added)).toEqual(['refused'])
    await reconfigure(lab, config(dataPath, ['192.168.0.2:8082=ns/web:80']))
    await expect.poll(() => distinct(added)).toEqual(servers(FOUR, 8000))
    await reconfigure(lab, config(dataPath))
    await expect.poll(() => names(added)).toEqual(['refused'])
    expect((await agent.call('holdCheck', { id })).lost).toEqual([])
    await agent.call('holdEnd', { id, how: 'reset' })
  })

  test('an address that is taken is reported, and is served when it is free', async () => {
    const { agent } = lab.node
    const taken = { protocol: 'TCP', ip: '127.0.0.1', port: 8083 } as const
    await agent.call('listen', { ...taken, name: 'other' })
    await reconfigure(lab, config(dataPath, ['127.0.0.1:8083=ns/web:http']))
    await lab.daemon.until('refused', (samples) => refusals(samples) > 0)
    expect(lab.daemon.logs()).toMatch(/NP_USERSPACE_LISTEN.*127\.0\.0\.1:8083.*EADDRINUSE/)
    expect(await names({ ...WEB, port: 8083 })).toEqual(['other'])
    await expect.poll(ready).toMatch(/^503 [^]*127\.0\.0\.1:8083: EADDRINUSE/)
    await expectServed()
    await agent.call('unlisten', taken)
    const again = () => distinct({ ...WEB, port: 8083 })
    await expect.poll(again).toEqual(servers(FOUR, 8000))
    await expect.poll(ready).toMatch(/^200 (?![^]*8083)/)
    await reconfigure(lab, config(dataPath))
  })

  test('a port that needs a right keeps the daemon from being ready', async () => {
    await reconfigure(lab, config(dataPath, ['127.0.0.1:81=ns/web:http']))
    await expect.poll(ready).toMatch(/^503 [^]*127\.0\.0\.1:81: EACCES/)
    await reconfigure(lab, config(dataPath))
    await expect.poll(ready).toMatch(/^200 /)
  })

  test('a binding that names no port is a warning until there is one', async () => {
    await reconfigure(lab, config(dataPath, ['127.0.0.1:8084=ns/later:http']))
    const fault = /^200 [^]*127\.0\.0\.1:8084=ns\/later:http \(no such Service\)/
    await expect.poll(ready).toMatch(fault)
    await deploy(lab, { ...SERVICE, key: 'ns/later', clusterIP: '172.30.50.9', spec: {} })
    await expect.poll(ready).toMatch(/^200 (?![^]*8084)/)
    expect(await distinct({ ...WEB, port: 8084 })).toEqual(servers(FOUR, 8000))
    await lab.api.remove('Service', 'ns/later')
    await expect.poll(ready).toMatch(fault)
    await reconfigure(lab, config(dataPath))
    await expect.poll(ready).toMatch(/^200 (?![^]*8084)/)
  })

  test('SIGTERM lets a connection end by itself; the deadline ends it otherwise', async () => {
    const { agent } = lab.node
    const { id } = await agent.call('holdOpen', { ...WEB, count: 2, everyMs: 100 })
    const stopped = lab.daemon.stop()
    expect(await names(WEB)).not.toContain('refused')
    expect((await agent.call('holdCheck', { id })).lost).toEqual([])
    await agent.call('holdEnd', { id, how: 'close' })
    expect(await stopped).toBe(0)
    const short = config(dataPath, [], { shutdownTimeout: '100ms' })
    await lab.daemon.start({ config: short, user: UNPRIVILEGED_UID })
    await lab.daemon.synced()
    const other = await agent.call('holdOpen', { ...WEB, count: 2, everyMs: 100 })
    expect(await lab.daemon.stop()).toBe(0)
    const ended = async () => (await agent.call('holdReport', { id: other.id })).lost.length
    await expect.poll(ended).toBe(2)
  })
})

const refusals = (samples: Parameters<typeof sumOf>[0]) =>
  sumOf(samples, 'nodeproxy_apply_failures_total', { code: 'NP_USERSPACE_LISTEN' })
