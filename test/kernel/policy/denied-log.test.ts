import { beforeAll, expect, test } from 'vitest'
import { nodeCommand } from '../../support/inspection/node-command.ts'
import { type LogLine, logged } from '../../support/lab/log-lines.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import {
  putClusterPolicy,
  putPod,
  putPolicy,
  removeClusterPolicy,
  tryConnecting,
} from '../../support/lab/policies.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import { blocksOf } from '../../support/pages/page-section.ts'

/** The log of denied connections, of real packets. */
const lab = useLab({ api: 'real' })

const WEB = { v4: '10.0.0.21', v6: 'fd00:10::21' } as const
const CLIENT = { v4: '10.0.0.22', v6: 'fd00:10::22' } as const
const FRIEND = { v4: '10.0.0.23', v6: 'fd00:10::23' } as const
/** Where `web`, `client` and nobody else belong to the API; the others are only addresses. */
const [FLOOD, QUIET, MARKER, STRANGER] = ['10.0.0.25', '10.0.0.26', '10.0.0.27', '10.0.0.28']
const FAMILIES = ['v4', 'v6'] as const
const PROTOCOLS = ['TCP', 'UDP'] as const
const PORTS = PROTOCOLS.map((protocol) => ({ protocol, port: 80 }))
const POLICY = 'shop/web-from-client'
const MESSAGE = 'policies denied a connection'

beforeAll(async () => {
  const pods = [
    { key: 'shop/web', ips: Object.values(WEB), labels: { app: 'web' } },
    { key: 'shop/client', ips: Object.values(CLIENT), labels: { app: 'client' } },
    { key: 'shop/friend', ips: Object.values(FRIEND), labels: { app: 'friend' } },
  ]
  for (const pod of pods) await putPod(lab(), pod)
  for (const ip of Object.values(WEB)) await lab().serve({ ip, local: true, ports: PORTS })
  await putPolicy(lab(), POLICY, {
    podSelector: { matchLabels: { app: 'web' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'friend' } } }], ports: [] }],
  })
})

const configure = (perSecond: number, more: object = {}) =>
  reconfigure(lab(), { networkPolicy: { logDeniedPerSecond: perSecond, ...more } })

const connect = (from: string, to: string = WEB.v4, protocol: 'TCP' | 'UDP' = 'TCP') =>
  tryConnecting(lab(), { from, to, port: 80, protocol })

const denied = () => logged(lab().daemon).filter(({ msg }) => msg === MESSAGE)
const deniedFrom = (source: string) => denied().filter((line) => line['source'] === source)

/** Connects until there is a record of it: everything that was logged before has been read then. */
async function recordOf(from: string, to?: string, protocol?: 'TCP' | 'UDP'): Promise<LogLine> {
  const isIt = (line: LogLine) =>
    line['source'] === from &&
    line['destination'] === (to ?? WEB.v4) &&
    line['protocol'] === (protocol ?? 'TCP')
  const before = denied().filter(isIt).length
  await expect
    .poll(async () => {
      await connect(from, to, protocol)
      return denied().filter(isIt).length
    })
    .toBeGreaterThan(before)
  return denied().findLast(isIt)!
}

async function rules(): Promise<string> {
  const list = (family: string) =>
    lab().node.namespace.exec(['nft', 'list', 'table', family, 'node-proxy-policies'])
  return (await list('ip')) + (await list('ip6'))
}

test('by default the rules log nothing', async () => {
  await expect.poll(() => connect(CLIENT.v4)).toEqual(['timeout'])
  expect(await rules()).toMatch(/counter packets \d+ bytes \d+ drop/)
  expect(await rules()).not.toMatch(/\b(?:log|limit)\b/)
  for (const family of FAMILIES) await connect(QUIET, WEB[family])
  expect(denied()).toEqual([])
})

test('a record names the connection, the Pods and the policies; what is admitted has none', async () => {
  await configure(1_000)
  for (const family of FAMILIES) {
    for (const protocol of PROTOCOLS) {
      expect(await connect(FRIEND[family], WEB[family], protocol)).toEqual(['answered'])
      const record = await recordOf(CLIENT[family], WEB[family], protocol)
      expect(record).toMatchObject({
        level: 'info',
        source: CLIENT[family],
        destination: WEB[family],
        port: 80,
        protocol,
        direction: 'ingress',
        pod: 'shop/web',
        peer: 'shop/client',
        policies: [POLICY],
      })
      expect(record['sourcePort']).toBeGreaterThan(0)
      expect(record).not.toHaveProperty('morePolicies')
    }
  }
  for (const family of FAMILIES) expect(deniedFrom(FRIEND[family])).toEqual([])
  expect(deniedFrom(QUIET)).toEqual([])
})

test('a record is as the page shows it', async () => {
  const [shown = ''] = blocksOf('network-policy.md', 'Log what is denied', 'json')
  const record = JSON.parse(shown) as object
  expect(await recordOf(CLIENT.v4)).toEqual({
    ...record,
    time: expect.any(String),
    sourcePort: expect.any(Number),
  })
})

test('what a ClusterNetworkPolicy denies, and what is no known Pod, is logged as well', async () => {
  const egress = [{ action: 'Deny', to: [{ networks: ['10.0.0.23/32'] }] }]
  const subject = { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: 'web' } } } }
  await putClusterPolicy(lab(), 'fence', { tier: 'Admin', priority: 1, subject, egress })
  expect(await recordOf(WEB.v4, FRIEND.v4)).toMatchObject({
    direction: 'egress',
    pod: 'shop/web',
    peer: 'shop/friend',
    policies: ['fence'],
  })
  await removeClusterPolicy(lab(), 'fence')
  const unknown = '10.180.0.77'
  await lab().serve({ ip: unknown, local: true, ports: PORTS })
  await configure(1_000, { unknownPods: 'deny' })
  const record = await recordOf(STRANGER, unknown)
  expect(record).toMatchObject({ direction: 'ingress', policies: [] })
  expect(record).not.toHaveProperty('pod')
})

test('explain follows a packet through rules that log', async () => {
  expect(await rules()).toMatch(/log prefix "ingress-pods-/)
  const { stdout } = await nodeCommand(lab(), 'explain', CLIENT.v4, `${WEB.v4}:80`, '-o', 'json')
  expect(JSON.parse(stdout)).toMatchObject({
    differences: [],
    observed: [{ kind: 'silent', probability: 1, refusedTo: { ip: WEB.v4, port: 80 } }],
  })
})

test('a flood has a few records', async () => {
  const perSecond = 5
  await configure(perSecond)
  await recordOf(MARKER)
  const dropped = async () =>
    sumOf(await lab().daemon.metrics(), 'nodeproxy_policy_dropped_packets_total', {
      policy: POLICY,
    })
  const before = await dropped()
  const startedAt = Date.now()
  const to = { protocol: 'UDP', source: FLOOD, destination: WEB.v4, port: 80 } as const
  await lab().connect('pod', { ...to, attempts: 1_000, parallel: 250, timeoutMs: 1 })
  const seconds = (Date.now() - startedAt) / 1_000
  expect((await dropped()) - before).toBeGreaterThanOrEqual(1_000)
  await recordOf(MARKER)
  const records = deniedFrom(FLOOD).length
  expect(records).toBeGreaterThan(0)
  // So many at once, and the rate.
  expect(records).toBeLessThanOrEqual(perSecond * (1 + Math.ceil(seconds)))
})

test('turned off, the rules and the daemon are as before', async () => {
  await configure(0)
  await expect.poll(rules).not.toMatch(/\b(?:log|limit)\b/)
  expect(await connect(QUIET)).toEqual(['timeout'])
  await configure(1_000)
  await recordOf(MARKER)
  expect(deniedFrom(QUIET)).toEqual([])
})
