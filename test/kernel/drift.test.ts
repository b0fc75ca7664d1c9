import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Deployment, deployAll, objectsOf } from '../support/flows/deploy.ts'
import { backendProgram } from '../support/lab/daemon-config.ts'
import type { Attempt, LabHost } from '../support/lab/lab.ts'
import { sumOf } from '../support/lab/metrics.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * Another process changes our rules while 1,000 Services are programmed. Each
 * probe below works, breaks with the sabotage, and has to work again soon.
 */
const SERVICES = 1000
const REPAIR_MS = 2000
/** A machine that is busy with something else may need another try to show it. */
const MAX_ATTEMPTS = 3
const SETTLED_MS = 15_000

const lab = useLab()

const SINGLE: Deployment = {
  key: 'ns/single',
  clusterIP: '172.30.16.1',
  endpoints: [{ ip: '10.180.0.1' }],
  ports: [{ name: '', port: 80, nodePort: 30080 }],
  spec: { type: 'NodePort' },
}
const SINGLE_V6: Deployment = {
  key: 'ns/single-v6',
  clusterIP: 'fd00:172:30::16:1',
  endpoints: [{ ip: 'fd00:10::180:1' }],
}
const EMPTY: Deployment = { key: 'ns/empty', clusterIP: '172.30.16.2', endpoints: [] }

const STICKY: Deployment = {
  key: 'ns/sticky',
  clusterIP: '172.30.16.3',
  endpoints: [2, 3, 4].map((n) => ({ ip: `10.180.2.${n}`, node: 'far' })),
  spec: { sessionAffinity: 'ClientIP' },
}

beforeAll(async () => {
  for (let serial = 0; serial < SERVICES; serial++) {
    const clusterIP = `172.29.${serial >> 8}.${serial & 255}`
    const key = `crowd/svc-${serial}`
    await lab().api.apply(
      ...objectsOf({ key, clusterIP, endpoints: [{ ip: '10.180.2.9', node: 'far' }] }),
    )
  }
  await deployAll(lab(), [SINGLE, SINGLE_V6, EMPTY])
}, 120_000)

interface Probe {
  readonly place: LabHost
  readonly attempt: Attempt
  readonly good: 'answered' | 'refused'
  /** Who must have answered. */
  readonly name?: string
}

const CLUSTER_IP: Probe = {
  place: 'pod',
  attempt: { source: '10.0.0.2', destination: '172.30.16.1', port: 80 },
  good: 'answered',
  name: '10.180.0.1:80',
}
const CLUSTER_IP_V6: Probe = {
  place: 'pod',
  attempt: { source: 'fd00:10::2', destination: 'fd00:172:30::16:1', port: 80 },
  good: 'answered',
  name: '[fd00:10::180:1]:80',
}
const NODE_PORT: Probe = {
  place: 'outside',
  attempt: { source: '203.0.113.2', destination: '192.168.0.2', port: 30080 },
  good: 'answered',
  name: '10.180.0.1:80',
}
const HAIRPIN: Probe = {
  ...CLUSTER_IP,
  attempt: { ...CLUSTER_IP.attempt, source: '10.180.0.1' },
}
const REFUSAL: Probe = {
  place: 'pod',
  attempt: { source: '10.0.0.2', destination: '172.30.16.2', port: 80 },
  good: 'refused',
}

async function works({ place, attempt, good, name }: Probe): Promise<boolean> {
  const [outcome] = await lab().connect(place, { ...attempt, timeoutMs: 250 })
  return outcome?.kind === good && (outcome.kind !== 'answered' || outcome.name === name)
}

/** Milliseconds from the sabotage to the first success that was followed by two more. */
async function repairTime(probe: Probe, sabotage: () => Promise<void>): Promise<number> {
  expect(await works(probe)).toBe(true)
  const start = performance.now()
  await sabotage()
  let lastFailure = performance.now()
  for (let good = 0; good < 3; ) {
    if (await works(probe)) good++
    else {
      good = 0
      lastFailure = performance.now()
    }
    if (performance.now() - start > 20_000) break
    await delay(5)
  }
  return lastFailure - start
}

/** Objects put right again since the daemon started. */
async function repairs(): Promise<number> {
  return sumOf(await lab().daemon.metrics(), 'nodeproxy_drift_repairs_total')
}

async function tool(program: string, ...args: readonly string[]): Promise<string> {
  return lab().node.namespace.exec([backendProgram(program), ...args])
}

/** The first rule of `table` that contains all of `words`, as `iptables-save` prints it. */
async function findRule(
  program: string,
  table: string,
  words: readonly string[],
): Promise<string[]> {
  const saved = await tool(`${program}-save`, '-t', table)
  const line = saved.split('\n').find((rule) => words.every((word) => rule.includes(word)))
  expect(line, `no rule with ${words.join(' ')} in:\n${saved}`).toBeDefined()
  return splitRule(line ?? '')
}

function splitRule(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((found) => found[1] ?? found[2] ?? '')
}

async function deleteRule(program: string, table: string, words: readonly string[]): Promise<void> {
  const [, ...rule] = await findRule(program, table, words)
  await tool(program, '-w', '-t', table, '-D', ...rule)
}

const flush =
  (program: string, ...args: readonly string[]) =>
  async (): Promise<void> => {
    await tool(program, '-w', ...args)
  }

const rule =
  (program: string, table: string, ...words: readonly string[]) =>
  (): Promise<void> =>
    deleteRule(program, table, words)

interface Sabotage {
  readonly what: string
  readonly probe: Probe
  readonly harm: () => Promise<void>
}

const SABOTAGES: readonly Sabotage[] = [
  { what: 'iptables -t nat -F', probe: CLUSTER_IP, harm: flush('iptables', '-t', 'nat', '-F') },
  {
    what: 'the same, seen from outside',
    probe: NODE_PORT,
    harm: flush('iptables', '-t', 'nat', '-F'),
  },
  { what: 'iptables -F', probe: REFUSAL, harm: flush('iptables', '-F') },
  {
    what: 'ip6tables -t nat -F',
    probe: CLUSTER_IP_V6,
    harm: flush('ip6tables', '-t', 'nat', '-F'),
  },
  {
    what: 'iptables -F and -X of every table, as a firewall restart does',
    probe: CLUSTER_IP,
    async harm() {
      for (const table of ['nat', 'filter', 'mangle']) {
        await tool('iptables', '-w', '-t', table, '-F')
        await tool('iptables', '-w', '-t', table, '-X')
      }
    },
  },
  {
    what: 'the DNAT rule of one endpoint deleted',
    probe: CLUSTER_IP,
    harm: rule('iptables', 'nat', '-A', '10.180.0.1:80'),
  },
  {
    what: 'the DNAT rule of one IPv6 endpoint deleted',
    probe: CLUSTER_IP_V6,
    harm: rule('ip6tables', 'nat', '-A', '[fd00:10::180:1]:80'),
  },
  {
    what: 'the jump from PREROUTING deleted',
    probe: CLUSTER_IP,
    harm: rule('iptables', 'nat', '-A PREROUTING'),
  },
  {
    what: 'the jump from POSTROUTING deleted',
    probe: HAIRPIN,
    harm: rule('iptables', 'nat', '-A POSTROUTING'),
  },
  {
    what: 'the MASQUERADE rule deleted',
    probe: HAIRPIN,
    harm: rule('iptables', 'nat', '-j MASQUERADE'),
  },
  {
    what: 'an endpoint’s rule altered to another destination',
    probe: CLUSTER_IP,
    async harm() {
      const [, chain = '', ...rest] = await findRule('iptables', 'nat', ['-A', '10.180.0.1:80'])
      const altered = rest.map((word) => word.replace('10.180.0.1:80', '10.180.0.1:81'))
      await tool('iptables', '-w', '-t', 'nat', '-D', chain, ...rest)
      await tool('iptables', '-w', '-t', 'nat', '-A', chain, ...altered)
    },
  },
  {
    what: 'a foreign rule put in front of ours in a chain of ours',
    probe: CLUSTER_IP,
    async harm() {
      const [, chain = ''] = await findRule('iptables', 'nat', ['-A', '10.180.0.1:80'])
      await tool('iptables', '-w', '-t', 'nat', '-I', chain, '-j', 'RETURN')
    },
  },
]

describe.each(SABOTAGES)('$what', ({ probe, harm }) => {
  test(`is repaired within ${REPAIR_MS} ms`, async () => {
    const before = await repairs()
    const times = [await repairTime(probe, harm)]
    while (Math.min(...times) >= REPAIR_MS && times.length < MAX_ATTEMPTS) {
      times.push(await repairTime(probe, harm))
    }
    expect(Math.min(...times)).toBeLessThan(REPAIR_MS)
    for (const each of [CLUSTER_IP, CLUSTER_IP_V6, NODE_PORT, HAIRPIN, REFUSAL]) {
      await expect.poll(() => works(each), { timeout: SETTLED_MS }).toBe(true)
    }
    await expect.poll(repairs, { timeout: SETTLED_MS }).toBeGreaterThan(before)
  })
})

test('every entry of our IP sets deleted: sticky clients are served on, and stick again', async () => {
  await deployAll(lab(), [STICKY])
  const query = () =>
    lab().connect('pod', { source: '10.0.0.2', destination: '172.30.16.3', port: 80, attempts: 10 })
  const expectSticky = async () => {
    const names = (await query()).map((o) => (o.kind === 'answered' ? o.name : o.kind))
    expect(new Set(names).size).toBe(1)
    expect(STICKY.endpoints.map(({ ip }) => `${ip}:80`)).toContain(names[0])
  }
  await expectSticky()
  const names = (await lab().node.namespace.exec(['ipset', 'list', '-n'])).trim().split('\n')
  expect(names[0]).not.toBe('')
  for (const name of names) await lab().node.namespace.exec(['ipset', 'flush', name])
  await expectSticky()
})

test('every repair was logged', () => {
  expect(lab().daemon.logs()).toMatch(/repair/i)
})
