import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { judge } from '../support/flows/judge.ts'
import { expectMartiansRefused } from '../support/flows/martian.ts'
import type { Attempt, Lab, LabHost } from '../support/lab/lab.ts'
import { createLab } from '../support/lab/lab.ts'
import { writeSysctls } from '../support/lab/sysctl.ts'

/**
 * The lab itself, without the daemon: rules written by hand stand for a right
 * and for a wrong proxy, and every outcome has to be distinguished from every other.
 */
const VIP = '172.30.0.41'
const BACKENDS = ['10.180.0.1', '10.180.2.1'] as const
const DNAT = '-t nat -A PREROUTING -d 172.30.0.41 -p tcp --dport 80'

let lab: Lab

beforeAll(async () => {
  lab = await createLab()
})

afterAll(() => lab.close())

beforeEach(async () => {
  await lab.reset()
  for (const table of ['nat', 'filter']) await iptables(`-t ${table} -F`)
})

async function iptables(...rules: readonly string[]): Promise<void> {
  for (const rule of rules) await lab.node.namespace.exec(['iptables', ...rule.split(' ')])
}

async function serveBackends(): Promise<void> {
  const ports = [{ protocol: 'TCP', port: 80 }] as const
  await lab.serve({ ip: BACKENDS[0], local: true, ports })
  await lab.serve({ ip: BACKENDS[1], local: false, ports })
}

async function outcomes(place: LabHost, attempt: Partial<Attempt> & { source: string }) {
  return lab.connect(place, { destination: VIP, port: 80, attempts: 10, ...attempt })
}

const hosts: readonly (readonly [string, LabHost, string])[] = [
  ['pod', 'pod', '10.0.0.2'],
  ['outside', 'outside', '203.0.113.2'],
]

describe.each(hosts)('from %s', (_, place, source) => {
  const base = async () => ({ source, nodeAddresses: await lab.nodeAddresses() })

  test('a packet that no rule handles passes on with its source', async () => {
    const expected = { ...(await base()), outcome: 'unhandled' } as const
    expect(judge(expected, await outcomes(place, { source }))).toEqual([])
    const onNode = { source, destination: '192.168.1.2', port: 3001 }
    expect(judge(expected, await outcomes(place, onNode))).toEqual([])
  })

  test('two endpoints answer, local and remote, and see the client', async () => {
    await serveBackends()
    await iptables(
      `${DNAT} -m statistic --mode nth --every 2 --packet 0 -j DNAT --to 10.180.0.1:80`,
      `${DNAT} -j DNAT --to 10.180.2.1:80`,
    )
    const endpoints = BACKENDS.map((ip) => `${ip}:80`)
    const expected = { ...(await base()), outcome: 'deliver', endpoints } as const
    const seen = await outcomes(place, { source, attempts: 20 })
    expect(judge({ ...expected, masquerade: false }, seen)).toEqual([])
    expect(judge({ ...expected, masquerade: true }, seen)).not.toEqual([])
  })

  test('masquerade is seen', async () => {
    await serveBackends()
    await iptables(`${DNAT} -j DNAT --to 10.180.0.1:80`, '-t nat -A POSTROUTING -j MASQUERADE')
    const endpoints = ['10.180.0.1:80']
    const expected = { ...(await base()), outcome: 'deliver', endpoints } as const
    const seen = await outcomes(place, { source })
    expect(judge({ ...expected, masquerade: true }, seen)).toEqual([])
    expect(judge({ ...expected, masquerade: false }, seen)).not.toEqual([])
  })

  test.each(['TCP', 'UDP', 'SCTP'] as const)(
    'a %s refusal is distinguished from silence',
    async (protocol) => {
      const match = `FORWARD -p ${protocol.toLowerCase()} -d ${VIP}`
      const refused = { ...(await base()), outcome: 'reject' } as const
      const silent = { ...(await base()), outcome: 'drop' } as const
      await iptables(`-A ${match} -j REJECT`)
      const rejected = await outcomes(place, { source, protocol })
      expect([judge(refused, rejected), judge(silent, rejected).length]).toEqual([[], 1])
      await iptables('-F FORWARD', `-A ${match} -j DROP`)
      const dropped = await outcomes(place, { source, protocol, timeoutMs: 600 })
      expect([judge(silent, dropped), judge(refused, dropped).length]).toEqual([[], 1])
    },
  )
})

test('a pod reaches itself through a virtual address only when it is masqueraded', async () => {
  await serveBackends()
  await iptables(`${DNAT} -j DNAT --to 10.180.0.1:80`)
  const hairpin = { source: '10.180.0.1', attempts: 2, timeoutMs: 600 }
  expect(await outcomes('pod', hairpin)).toEqual([{ kind: 'timeout' }, { kind: 'timeout' }])
  await iptables('-t nat -A POSTROUTING -s 10.180.0.1 -d 10.180.0.1 -j MASQUERADE')
  const expected = {
    outcome: 'deliver',
    endpoints: ['10.180.0.1:80'],
    masquerade: true,
    source: '10.180.0.1',
    nodeAddresses: await lab.nodeAddresses(),
  } as const
  expect(judge(expected, await outcomes('pod', hairpin))).toEqual([])
})

test.each([
  ['10.0.0.2', '172.30.0.53', '10.180.2.1'],
  ['fd00:10::2', 'fd00:172:30::53', 'fd00:10:2::1'],
])('SCTP from %s finds its way through a DNAT, and back', async (source, destination, ip) => {
  await lab.serve({ ip, local: false, ports: [{ protocol: 'SCTP', port: 5353 }] })
  const v6 = source.includes(':')
  const to = v6 ? `[${ip}]:5353` : `${ip}:5353`
  const rule = `-t nat -A PREROUTING -d ${destination} -p sctp --dport 53 -j DNAT --to ${to}`
  await lab.node.namespace.exec([v6 ? 'ip6tables' : 'iptables', ...rule.split(' ')])
  const attempt = { source, destination, port: 53, protocol: 'SCTP', attempts: 4 } as const
  const seen = await lab.connect('pod', attempt)
  const expected = { outcome: 'deliver', endpoints: [to], source, masquerade: false } as const
  expect(judge({ ...expected, nodeAddresses: new Set() }, seen)).toEqual([])
  const elsewhere = await lab.connect('pod', { ...attempt, port: 54 })
  expect(judge({ ...expected, outcome: 'unhandled', nodeAddresses: new Set() }, elsewhere)).toEqual(
    [],
  )
})

test('a kept connection notices its death, a load counts every failure', async () => {
  await serveBackends()
  await iptables(`${DNAT} -j DNAT --to 10.180.0.1:80`)
  const { agent } = await lab.site('pod', '10.0.0.2')
  const to = { protocol: 'TCP', source: '10.0.0.2', destination: VIP, port: 80 } as const
  const kept = await agent.call('open', to)
  expect(await agent.call('ping', { id: kept.id, timeoutMs: 1000 })).toBe(true)
  const load = await agent.call('loadStart', { ...to, intervalMs: 5, timeoutMs: 300 })
  await iptables('-A FORWARD -p tcp --dport 80 -j DROP')
  expect(await agent.call('ping', { id: kept.id, timeoutMs: 300 })).toBe(false)
  const report = await agent.call('loadStop', load)
  expect(report.failed).toBeGreaterThan(0)
  expect(report.failed).toBe(
    report.attempts - Object.values(report.answers).reduce((a, b) => a + b, 0),
  )
})

test('the attack on loopback addresses is real: only route_localnet stands in its way', async () => {
  await expectMartiansRefused(lab)
  await writeSysctls(lab.node.agent, {
    'net/ipv4/conf/all/route_localnet': 1,
    'net/ipv4/conf/eth0/route_localnet': 1,
  })
  await expect(expectMartiansRefused(lab)).rejects.toThrow('datagrams heard: expected 4')
})
