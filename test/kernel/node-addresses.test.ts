import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Deployment, deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { isUserspace, proxyMode } from '../support/lab/daemon-config.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { sumOf } from '../support/lab/metrics.ts'
import { NODE_NAME } from '../support/lab/plan.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'

/**
 * `nodePortAddresses: [primary]` while the Node object is missing, has no addresses, or is deleted:
 * no address serves node ports or health check node ports, in every mode.
 */

const PRIMARY = { nodePortAddresses: ['primary'] }
const CHECK_PORT = 30111
const ADDRESSES = [
  ['203.0.113.2', '192.168.0.2'],
  ['203.0.113.2', '192.168.1.2'],
  ['2600:5200::1', '2001:db8::1'],
  ['2600:5200::1', '2001:db8:1::2'],
] as const
const PRIMARY_ADDRESSES: readonly string[] = ['192.168.0.2', '2001:db8::1']
const LEAVING = { src: '203.0.113.2', dst: '192.168.0.2' }
const ALL_ADDRESSES: readonly string[] = ADDRESSES.map(([, dst]) => dst)

const V4: Deployment = {
  key: 'ns/v4',
  clusterIP: '172.30.24.1',
  endpoints: [{ ip: '10.180.0.1' }],
  ports: [{ name: '', port: 80, nodePort: 30080 }],
  spec: { type: 'NodePort' },
}
const V6: Deployment = {
  ...V4,
  key: 'ns/v6',
  clusterIP: 'fd00:172:30::24:1',
  endpoints: [{ ip: 'fd00:10:180::1' }],
}
const CHECKED: Deployment = {
  key: 'ns/checked',
  clusterIP: '172.30.24.2',
  endpoints: [{ ip: '10.180.0.2' }],
  spec: {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: CHECK_PORT,
  },
  ingress: [{ ip: '1.2.3.4' }],
}

let lab: Lab
beforeAll(async () => {
  lab = await createLab()
  await lab.api.remove('Node', `/${NODE_NAME}`)
  await lab.daemon.start({ config: PRIMARY })
  for (const deployment of [V4, V6, CHECKED]) await deploy(lab, deployment)
})
afterAll(() => lab?.close())

/** From a neighbour; TCP, both families. `leaving`: still has a connection. */
async function expectServed(serving: readonly string[], leaving?: string): Promise<void> {
  for (const [src, dst] of ADDRESSES) {
    const endpoints = [dst.includes(':') ? '[fd00:10:180::1]:80' : '10.180.0.1:80']
    const served = { outcome: 'deliver', endpoints, masquerade: true } as const
    // IPVS cannot distinguish new connections from those that it still has, so it refuses them.
    const isRefused = dst === leaving && proxyMode() === 'ipvs'
    const unserved = { outcome: isRefused ? 'reject' : 'unhandled' } as const
    await expectFlow(lab, {
      from: 'external',
      src,
      dst,
      dport: 30080,
      retrySeconds: 30,
      expect: serving.includes(dst) ? served : unserved,
    })
  }
}

async function expectChecked(serving: readonly string[]): Promise<void> {
  for (const [, ip] of ADDRESSES) {
    const url = `http://${ip.includes(':') ? `[${ip}]` : ip}:${CHECK_PORT}/`
    const query = () =>
      lab.outside.agent.call('http', { url }).then(
        ({ status }) => String(status),
        (error: unknown) => String(error),
      )
    const expected = serving.includes(ip) ? /^200$/ : /ECONNREFUSED/
    await expect.poll(query, { message: url }).toMatch(expected)
  }
}

async function expectUnknown(isUnknown: boolean): Promise<void> {
  const reason = { reason: 'node-port-addresses-unknown' }
  const value = isUnknown ? 1 : 0
  await lab.daemon.until(`condition ${value}`, (samples) => {
    return sumOf(samples, 'nodeproxy_conditions', reason) === value
  })
  const ready = async () => {
    const { status, body } = await lab.daemon.http(10256, '/readyz')
    return `${status} ${body}`
  }
  const why = isUnknown ? /^503 [^]*no address serves node ports/ : /^200 (?![^]*node ports)/
  await expect.poll(ready).toMatch(why)
}

async function expectNone(leaving?: string): Promise<void> {
  await expectUnknown(true)
  await expectServed([], leaving)
  await expectChecked([])
}

async function expectPrimary(): Promise<void> {
  await expectUnknown(false)
  await expectServed(PRIMARY_ADDRESSES)
  await expectChecked(PRIMARY_ADDRESSES)
}

function applyNode(addresses: readonly string[]): Promise<void> {
  return lab.api.apply({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE_NAME },
    spec: { podCIDR: '10.180.0.0/24', podCIDRs: ['10.180.0.0/24', 'fd00:10:180::/64'] },
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  })
}

/** A connection to the primary address that is kept open. */
async function connection() {
  const { agent } = await lab.site('outside', LEAVING.src)
  const client = { source: LEAVING.src, destination: LEAVING.dst, port: 30080 } as const
  const { id } = await agent.call('open', { protocol: 'TCP', ...client })
  return {
    isAlive: () => agent.call('ping', { id, timeoutMs: 2_000 }),
    close: () => agent.call('resetOpen', null),
  }
}

test('the Node object is missing from the start', () => expectNone())

test('it has no addresses', async () => {
  await applyNode([])
  await expectNone()
})

test('it gets addresses', async () => {
  await applyNode(PRIMARY_ADDRESSES)
  await expectPrimary()
})

test('it loses them: new connections are not served, existing ones go on', async () => {
  const { isAlive, close } = await connection()
  await applyNode([])
  await expectNone(LEAVING.dst)
  expect(await isAlive()).toBe(true)
  await applyNode(PRIMARY_ADDRESSES)
  await expectPrimary()
  expect(await isAlive()).toBe(true)
  await close()
})

test('SIGTERM leaves the primary addresses at most, and a start finds them again', async () => {
  await lab.daemon.stop()
  if (!isUserspace()) await expectServed(PRIMARY_ADDRESSES)
  await lab.daemon.start({ config: PRIMARY })
  await expectPrimary()
})

test('the Node object is deleted while the daemon runs', async () => {
  const { isAlive, close } = await connection()
  await lab.api.remove('Node', `/${NODE_NAME}`)
  await expectNone(LEAVING.dst)
  expect(await isAlive()).toBe(true)
  await close()
  await expectServed([])
})

test('SIGTERM and a start without the Node object', async () => {
  await lab.daemon.stop()
  await expectServed([])
  await lab.daemon.start({ config: PRIMARY })
  await expectNone()
})

test('the field changes while the Node object is missing', async () => {
  await reconfigure(lab, {})
  await expectUnknown(false)
  await expectServed(ALL_ADDRESSES)
  await expectChecked(ALL_ADDRESSES)
  await reconfigure(lab, PRIMARY)
  await expectNone()
})

test('the mode changes while the Node object is missing', async () => {
  const mode = proxyMode() === 'iptables' ? 'userspace' : 'iptables'
  for (const config of [{ ...PRIMARY, mode } as const, PRIMARY]) {
    await reconfigure(lab, config)
    await expectNone()
  }
})

test('it comes back', async () => {
  await applyNode(PRIMARY_ADDRESSES)
  await expectPrimary()
})
