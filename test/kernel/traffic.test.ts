import { beforeAll, expect, test } from 'vitest'
import { type Deployment, deploy, redeploy } from '../support/flows/deploy.ts'
import { nodeCommand } from '../support/inspection/node-command.ts'
import { backendProgram, proxyMode } from '../support/lab/daemon-config.ts'
import { sumOf } from '../support/lab/metrics.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** What each mode counts of real connections, beside what clients and backends counted. */
const COUNTING = { nftables: { trafficCounters: true } }
const lab = useLab({ config: COUNTING })

const CLIENT = { source: '10.0.0.2', destination: '172.30.63.1', port: 80 } as const
const ONE = { ip: '10.180.2.1', node: 'far' }
const TWO = { ip: '10.180.2.2', node: 'far' }
const THREE = { ip: '10.180.2.3', node: 'far' }
const WEB: Deployment = {
  key: 'shop/web',
  clusterIP: CLIENT.destination,
  endpoints: [ONE, TWO],
}
const QUIET: Deployment = {
  key: 'shop/quiet',
  clusterIP: '172.30.63.2',
  endpoints: [{ ip: '10.180.2.9', node: 'far' }],
}
const CONNECTIONS = 40

const MODE = proxyMode()
const COUNTS = {
  packets: MODE === 'ipvs' || MODE === 'nftables',
  backendBytes: MODE === 'ipvs' || MODE === 'userspace',
}

/** How many connections each backend answered. */
async function connect(attempts: number): Promise<Map<string, number>> {
  const outcomes = await lab().connect('pod', { ...CLIENT, attempts, timeoutMs: 5_000 })
  const answers = new Map<string, number>()
  for (const outcome of outcomes) {
    if (outcome.kind !== 'answered') throw new Error(JSON.stringify(outcome))
    const ip = outcome.name.replace(/:\d+$/, '')
    answers.set(ip, (answers.get(ip) ?? 0) + 1)
  }
  return answers
}

/** Packets and bytes that the client's own kernel counted, to the Service and from it. */
async function ofClient(): Promise<Record<string, number>> {
  const { namespace } = await lab().site('pod', CLIENT.source)
  const text = await namespace.exec([backendProgram('iptables-save'), '-c', '-t', 'filter'])
  const of = (chain: string) =>
    new RegExp(`^\\[(\\d+):(\\d+)\\] -A ${chain} `, 'm').exec(text)?.slice(1).map(Number) ?? []
  const [[packetsIn = 0, bytesIn = 0], [packetsOut = 0, bytesOut = 0]] = [of('OUTPUT'), of('INPUT')]
  return { packetsIn, bytesIn, packetsOut, bytesOut }
}

interface Numbers {
  readonly [name: string]: number
}

/** What `node-proxy traffic` says of a Service. */
async function counted(service: string) {
  const { code, stdout, stderr } = await nodeCommand(lab(), 'traffic', service, '-o', 'json')
  if (code !== 0) throw new Error(stderr)
  const { total = {}, backends = [] } = JSON.parse(stdout)
  return {
    total: numbersOf(total),
    backends: new Map<string, Numbers>(
      backends.map(({ ip, traffic }: { ip: string; traffic: object }) => [ip, numbersOf(traffic)]),
    ),
  }
}

/** 64-bit numbers are text in JSON. */
function numbersOf(traffic: object): Numbers {
  return Object.fromEntries(Object.entries(traffic).map(([name, text]) => [name, Number(text)]))
}

beforeAll(async () => {
  await deploy(lab(), QUIET)
  await deploy(lab(), WEB)
  const { namespace } = await lab().site('pod', CLIENT.source)
  const program = backendProgram('iptables')
  await namespace.exec([program, '-A', 'OUTPUT', '-d', CLIENT.destination])
  await namespace.exec([program, '-A', 'INPUT', '-s', CLIENT.destination])
})

test('connections, packets and bytes are what the client and the backends counted', async () => {
  const answers = await connect(CONNECTIONS)
  expect([...answers.keys()].toSorted()).toEqual([ONE.ip, TWO.ip])
  const everything = async () => {
    const [{ total }, client] = [await counted('shop/web'), await ofClient()]
    expect(total['connections']).toBe(CONNECTIONS)
    if (COUNTS.packets) expect(total).toMatchObject(client)
    // Where this process forwards, bytes are those of the payload.
    if (MODE === 'userspace') expect(total['bytesOut']).toBeGreaterThan(CONNECTIONS * 10)
  }
  // The kernel sums its counters up every two seconds; the last packets of a connection follow its answer.
  await expect.poll(everything, { interval: 500 }).toBeUndefined()
  const { backends } = await counted('shop/web')
  const ofEach = [...backends].map(([ip, { connections }]) => [ip, connections] as const)
  expect(new Map(ofEach)).toEqual(answers)
})

test('what a mode does not count is absent, and never 0', async () => {
  const { total, backends } = await counted('shop/web')
  const ofBackends = [
    'connections',
    ...(MODE === 'ipvs' || MODE === 'userspace' ? ['connectionsNow'] : []),
    ...(COUNTS.backendBytes ? ['bytesIn', 'bytesOut'] : []),
    ...(MODE === 'ipvs' ? ['packetsIn', 'packetsOut'] : []),
  ]
  const ofService = [
    ...ofBackends,
    ...(MODE === 'nftables' ? ['bytesIn', 'bytesOut', 'packetsIn', 'packetsOut'] : []),
  ]
  expect(Object.keys(total).toSorted()).toEqual(ofService.toSorted())
  for (const numbers of backends.values()) {
    expect(Object.keys(numbers).toSorted()).toEqual(ofBackends.toSorted())
  }
})

test('a Service without traffic has none, and the text shows both', async () => {
  const quiet = await counted('shop/quiet')
  expect(Object.values(quiet.total).filter((count) => count > 0)).toEqual([])
  const { stdout } = await nodeCommand(lab(), 'traffic', 'shop/')
  const lines = stdout.split('\n')
  expect(lines[0]).toMatch(/^SERVICE +CONNECTIONS +NOW +PACKETS-IN/)
  expect(
    lines.filter((line) => line.startsWith('shop/')).map((line) => line.split(' ')[0]),
  ).toEqual(['shop/quiet', 'shop/web'])
  expect(stdout).toMatch(/^shop\/web +40 /m)
  expect(stdout).toMatch(/^ {2}10\.180\.2\.1:80 TCP +\d+ /m)
  const none = await nodeCommand(lab(), 'traffic', 'shop/none')
  expect([none.code, none.stderr]).toEqual([
    1,
    'node-proxy: this node forwards no port of "shop/none"\n',
  ])
})

test('metrics have the same totals', async () => {
  const { total } = await counted('shop/web')
  const labels = { service_namespace: 'shop', service_name: 'web' }
  const metrics = async () => {
    const samples = await lab().daemon.metrics()
    return [
      sumOf(samples, 'nodeproxy_service_connections_total', labels),
      sumOf(samples, 'nodeproxy_service_bytes_total', { ...labels, direction: 'out' }),
      sumOf(samples, 'nodeproxy_service_packets_total', { ...labels, direction: 'in' }),
    ]
  }
  const { connections = 0, bytesOut = 0, packetsIn = 0 } = total
  await expect.poll(metrics).toEqual([connections, bytesOut, packetsIn])
})

test('a replaced endpoint takes nothing from the Service and from the other endpoint', async () => {
  const before = await counted('shop/web')
  await redeploy(lab(), { ...WEB, endpoints: [ONE, THREE] })
  const after = await counted('shop/web')
  const { connectionsNow: _, ...numbers } = before.total
  expect(after.total).toMatchObject(numbers)
  const answers = await connect(CONNECTIONS)
  expect(answers.get(THREE.ip)).toBeGreaterThan(0)
  const expected = [
    2 * CONNECTIONS,
    (before.backends.get(ONE.ip)?.['connections'] ?? 0) + (answers.get(ONE.ip) ?? 0),
    answers.get(THREE.ip),
  ]
  const now = async () => {
    const { total, backends } = await counted('shop/web')
    const of = (ip: string) => backends.get(ip)?.['connections']
    return [total['connections'], of(ONE.ip), of(THREE.ip)]
  }
  await expect.poll(now, { interval: 500 }).toEqual(expected)
})
