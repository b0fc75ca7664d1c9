import { beforeEach, expect, test } from 'vitest'
import { type Deployment, deploy } from '../support/flows/deploy.ts'
import { stickyClients, virtualServer } from '../support/ipvs/table.ts'
import type { EndpointSpec } from '../support/lab/objects.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * `sessionAffinity: ClientIP` in IPVS. Promised is: a client meets the same backend for
 * the timeout, counted from the start of its latest connection, and as long as one of
 * its connections is remembered by the kernel (a connection that was reset: 10 s; one
 * that was closed: 2 min). It is forgotten when both are over; where the timeout ends
 * first, the kernel looks again every 60 s only. A backend that leaves keeps no client.
 */
const lab = useLab()
beforeEach(() => lab().reset())

const VIP = '172.30.41.1'
const ENDPOINTS: readonly EndpointSpec[] = [1, 2, 3].map((n) => ({
  ip: `10.180.2.${n}`,
  node: 'far',
}))
/** Not a multiple of three: the next round of rr begins elsewhere. */
const CLIENTS = 10
/** A connection that was reset is remembered for 10 s. */
const BEYOND_RESET = 12

function sticky(seconds: number, endpoints = ENDPOINTS): Deployment {
  const sessionAffinityConfig = { clientIP: { timeoutSeconds: seconds } }
  const spec = { sessionAffinity: 'ClientIP', sessionAffinityConfig }
  return { key: 'ns/sticky', clusterIP: VIP, endpoints, spec }
}

/** The backend of each client, one after the other; all must be answered. */
async function backends(clients: readonly string[]): Promise<string[]> {
  const outcomes = await lab().outside.agent.call('connectEach', {
    protocol: 'TCP',
    sources: clients,
    destination: VIP,
    port: 80,
    parallel: 1,
    timeoutMs: 5000,
  })
  return outcomes.map((outcome) => (outcome.kind === 'answered' ? outcome.name : outcome.kind))
}

const remembered = () => stickyClients(lab().node, `${VIP}:80`)

test('clients are spread, stick for the timeout, and are forgotten when it is over', async () => {
  await deploy(lab(), sticky(BEYOND_RESET))
  expect(await virtualServer(lab().node, `TCP ${VIP}:80`)).toMatchObject({
    persistent: BEYOND_RESET,
  })
  const clients = await lab().crowd(CLIENTS)
  const first = await backends(clients)
  expect(new Set(first)).toEqual(new Set(ENDPOINTS.map(({ ip }) => `${ip}:80`)))
  for (let round = 0; round < 2; round++) expect(await backends(clients)).toEqual(first)
  const since = performance.now()
  expect(await backends(clients)).toEqual(first)
  const atHalf = Promise.withResolvers<readonly string[]>()
  setTimeout(() => atHalf.resolve(remembered()), (BEYOND_RESET / 2) * 1000)
  expect((await atHalf.promise).toSorted()).toEqual([...clients].toSorted())
  await expect.poll(remembered, { timeout: 20_000, interval: 200 }).toEqual([])
  expect(performance.now() - since).toBeGreaterThan((BEYOND_RESET - 1) * 1000)
  const later = await backends(clients)
  expect(later.filter((name, index) => name === first[index])).toEqual([])
})

test('a client with a live connection sticks beyond the timeout', async () => {
  await deploy(lab(), sticky(1))
  const [source = ''] = await lab().crowd(1)
  const { agent } = lab().outside
  const request = { protocol: 'TCP', source, destination: VIP, port: 80 } as const
  const { id, alive } = await agent.call('holdOpen', { ...request, count: 1, everyMs: 200 })
  const [name = ''] = Object.keys(alive)
  await expect.poll(secondsLeft, { timeout: 10_000, interval: 100 }).toBeGreaterThan(30)
  expect(await backends([source, source, source, source])).toEqual([name, name, name, name])
  expect((await agent.call('holdEnd', { id, how: 'reset' })).lost).toEqual([])
})

test('a closed connection is remembered for two minutes, whatever tcpFinTimeout says', async () => {
  await reconfigure(lab(), { ipvs: { tcpFinTimeout: '5s' } })
  await deploy(lab(), sticky(1))
  const [source = ''] = await lab().crowd(1)
  const { agent } = lab().outside
  const request = { protocol: 'TCP', source, destination: VIP, port: 80 } as const
  const { id } = await agent.call('holdOpen', { ...request, count: 1, everyMs: 200 })
  const { namespace } = lab().node
  await expect
    .poll(() => namespace.exec(['ipvsadm', '-L', '--timeout']), { timeout: 10_000 })
    .toMatch(/: \d+ 5 \d+/)
  await agent.call('holdEnd', { id, how: 'close' })
  const list = () => namespace.exec(['ipvsadm', '-Lnc'])
  await expect.poll(list, { timeout: 5000 }).toMatch(/ 01:5\d +TIME_WAIT /)
  await expect.poll(secondsLeft, { timeout: 10_000, interval: 100 }).toBeGreaterThan(30)
  expect(await secondsLeft()).toBeLessThanOrEqual(60)
  await reconfigure(lab(), {})
})

/** Seconds until the kernel looks at the only client again: its timeout of 1 s, then 60 s. */
async function secondsLeft(): Promise<number> {
  const listed = await lab().node.namespace.exec(['ipvsadm', '-Lnc'])
  const [, minutes = '0', seconds = '0'] = /(\d+):(\d+) +\S+ +\S+:0 /.exec(listed) ?? []
  return Number(minutes) * 60 + Number(seconds)
}

test('clients of a backend that leaves move on at once, the others stay', async () => {
  await deploy(lab(), sticky(600))
  const clients = await lab().crowd(CLIENTS)
  const first = await backends(clients)
  const source = clients[first.indexOf('10.180.2.1:80')] ?? ''
  const request = { protocol: 'TCP', source, destination: VIP, port: 80 } as const
  const { agent } = lab().outside
  const { id } = await agent.call('holdOpen', { ...request, count: 3, everyMs: 200 })
  await deploy(lab(), sticky(600, ENDPOINTS.slice(1)))
  const after = await backends(clients)
  const gone = first.map((name) => name === '10.180.2.1:80')
  expect(after.filter((name, index) => gone[index] && name === '10.180.2.1:80')).toEqual([])
  expect(after.filter((name, index) => !gone[index] && name !== first[index])).toEqual([])
  expect(new Set(after)).toEqual(new Set(['10.180.2.2:80', '10.180.2.3:80']))
  expect(await backends(clients)).toEqual(after)
  const held = await agent.call('holdCheck', { id })
  expect(held).toMatchObject({ alive: { '10.180.2.1:80': 3 }, lost: [] })
  await agent.call('holdEnd', { id, how: 'reset' })
})

test('affinity switched on and off while connections are kept', async () => {
  await deploy(lab(), { ...sticky(600), spec: {} })
  const [source = ''] = await lab().crowd(1)
  const { agent } = lab().outside
  const request = { protocol: 'TCP', source, destination: VIP, port: 80 } as const
  const { id } = await agent.call('holdOpen', { ...request, count: 6, everyMs: 200 })
  await deploy(lab(), sticky(600))
  expect(new Set(await backends(Array<string>(6).fill(source))).size).toBe(1)
  await deploy(lab(), { ...sticky(600), spec: { sessionAffinity: 'None' } })
  expect(new Set(await backends(Array<string>(6).fill(source))).size).toBe(3)
  expect((await agent.call('holdCheck', { id })).lost).toEqual([])
  await agent.call('holdEnd', { id, how: 'reset' })
})

/** A gap of the mode (gaps.ts): when the last connection is answered, the gap is none any more. */
test.each([
  { spec: {}, sourcePort: 20_001, last: 'answered' },
  { spec: { sessionAffinity: 'ClientIP' } as const, sourcePort: 20_002, last: 'timeout' },
])('a port used at an address, at another one of the backend, and again: $last', async (given) => {
  const { spec, sourcePort, last } = given
  const endpoints = ENDPOINTS.slice(0, 1)
  const other = '172.30.41.2'
  await deploy(lab(), { key: 'ns/sticky', clusterIP: VIP, endpoints, spec })
  await deploy(lab(), { key: 'ns/other', clusterIP: other, endpoints, spec })
  const { agent } = await lab().site('pod', '10.0.0.2')
  const kinds: string[] = []
  for (const destination of [VIP, other, VIP]) {
    const client = { protocol: 'TCP', source: '10.0.0.2', sourcePort, timeoutMs: 5000 } as const
    const [outcome] = await agent.call('connect', { ...client, destination, port: 80 })
    kinds.push(outcome?.kind ?? '')
  }
  expect(kinds).toEqual(['answered', 'answered', last])
})

/** A gap of the mode, too: when the first connection goes on, the gap is none any more. */
test('a port used at two addresses of a backend at once: the first connection hangs', async () => {
  const endpoints = ENDPOINTS.slice(0, 1)
  const other = '172.30.41.2'
  await deploy(lab(), { key: 'ns/sticky', clusterIP: VIP, endpoints })
  await deploy(lab(), { key: 'ns/other', clusterIP: other, endpoints })
  const { agent } = await lab().site('pod', '10.0.0.2')
  const client = { protocol: 'TCP', source: '10.0.0.2', sourcePort: 20_003 } as const
  const answers = async (id: number) => await agent.call('ping', { id, timeoutMs: 2000 })
  const first = await agent.call('open', { ...client, destination: VIP, port: 80 })
  expect(await answers(first.id)).toBe(true)
  const second = await agent.call('open', { ...client, destination: other, port: 80 })
  expect([await answers(second.id), await answers(first.id)]).toEqual([true, false])
  await agent.call('resetOpen', null)
})
