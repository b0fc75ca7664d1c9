import { expect } from 'vitest'
import { proxyMode } from '../lab/daemon-config.ts'
import type { Lab } from '../lab/lab.ts'
import { OUTSIDE } from '../lab/plan.ts'
import { writeSysctls } from '../lab/sysctl.ts'

const PORT = 8099
const SERVER = { protocol: 'UDP', ip: '127.0.0.1', port: PORT } as const
const WEB = { ...SERVER, protocol: 'TCP' } as const
/** Slower in User-mode Linux, where attacker and node share one processor. */
const PACE = proxyMode() === 'ipvs' ? 25 : 1
const ATTACKERS_TABLE = [
  'route del local 127.0.0.0/8 dev lo table local',
  'route del local 127.0.0.1 dev lo table local',
  'route add 127.0.0.1/32 via 192.168.0.2 dev eth0 onlink',
]

/**
 * CVE-2020-8558: a neighbour sends packets for 127.0.0.1 over the wire. A server on the loopback of the node must not
 * receive them.
 */
export async function expectMartiansRefused(lab: Lab): Promise<void> {
  await lab.node.agent.call('listen', { ...SERVER, name: 'private' })
  await arm(lab)
  const to = { protocol: 'UDP', destination: '127.0.0.1', port: PORT, timeoutMs: 300 } as const
  await lab.outside.agent.call('connect', { ...to, source: OUTSIDE.v4, attempts: 3 })
  const own = await lab.node.agent.call('connect', { ...to, source: '127.0.0.1' })
  expect(own.map(({ kind }) => kind)).toEqual(['answered'])
  expect(await lab.node.agent.call('heard', SERVER), 'datagrams heard').toBe(1)
  await lab.node.agent.call('unlisten', SERVER)
}

/**
 * The same neighbour keeps sending, a datagram and a connection request every few milliseconds,
 * while `change` happens: no packet may arrive at any moment of it.
 */
export async function underAttack(lab: Lab, change: () => Promise<void>): Promise<void> {
  await arm(lab)
  for (const server of [SERVER, WEB])
    await lab.node.agent.call('listen', { ...server, name: 'private' })
  const { agent } = lab.outside
  const to = { source: OUTSIDE.v4, destination: '127.0.0.1', port: PORT, timeoutMs: 300 }
  const loads = [
    await agent.call('loadStart', { ...to, protocol: 'UDP', intervalMs: 4 * PACE }),
    await agent.call('loadStart', { ...to, protocol: 'TCP', intervalMs: 20 * PACE }),
  ]
  try {
    await change()
  } finally {
    const reports = []
    for (const load of loads) reports.push(await agent.call('loadStop', { ...load, atLeast: 20 }))
    expect(await lab.node.agent.call('heard', SERVER), 'datagrams heard').toBe(0)
    expect(reports.map(({ answers }) => answers)).toEqual([{}, {}])
    for (const server of [SERVER, WEB]) await lab.node.agent.call('unlisten', server)
  }
}

/** Idempotent: enables the outside client to send to a loopback address. */
async function arm(lab: Lab): Promise<void> {
  const routes = await lab.outside.namespace.exec(['ip', 'route', 'show', '127.0.0.1'])
  if (routes.includes('eth0')) return
  await writeSysctls(lab.outside.agent, {
    'net/ipv4/conf/all/route_localnet': 1,
    'net/ipv4/conf/eth0/route_localnet': 1,
  })
  await lab.outside.namespace.ip(ATTACKERS_TABLE)
}
