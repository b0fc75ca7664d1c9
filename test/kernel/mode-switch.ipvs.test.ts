import { afterEach, beforeEach, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { type Traffic, undisturbed } from '../support/ipvs/undisturbed.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { netState, oursIn } from '../support/lab/net-state.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'

/**
 * One mode takes the node over from the other: new connections meet one of the two at
 * every moment, those that exist go on, and in the end nothing of the old one is left.
 */
let lab: Lab
beforeEach(async () => {
  lab = await createLab()
})
afterEach(() => lab.close())

const VIP = '172.30.46.1'
const PREFIX = { iptables: 'NPROXY-', ipvs: 'NPVS-' } as const
type ModeName = keyof typeof PREFIX
/** IPVS remembers a connection that was reset for 10 s. */
const FORGOTTEN_MS = 40_000

/** As much as leaves a slow machine time for the daemon. */
const PACE = { held: 10, everyMs: 500, intervalMs: 50 } as const
const POD: Traffic = { ...PACE, destination: VIP }
const OUTSIDE: Traffic = {
  ...PACE,
  place: 'outside',
  source: '203.0.113.2',
  destination: '192.168.0.2',
  port: 30080,
}

async function serveIn(mode: ModeName): Promise<void> {
  await lab.daemon.start({ config: { mode } })
  await deploy(lab, {
    key: 'ns/moved',
    clusterIP: VIP,
    endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.2', node: 'far' }],
    ports: [{ name: '', port: 80, nodePort: 30080 }],
    spec: { type: 'NodePort' },
  })
}

/** Both ways in, under load and with connections held, while `change` happens. */
async function whileServing(change: () => Promise<void>): Promise<void> {
  await undisturbed(lab, POD, async () => {
    await undisturbed(lab, OUTSIDE, change)
  })
}

const traces = async (mode: ModeName) => oursIn(await netState(lab.node), PREFIX[mode])

async function expectServing(mode: ModeName): Promise<void> {
  const answered = { outcome: 'deliver', endpoints: ['10.180.0.1:80', '10.180.2.2:80'] } as const
  await expectFlow(lab, { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80, expect: answered })
  await expectFlow(lab, {
    ...{ from: 'external', src: '203.0.113.2', dst: '192.168.0.2', dport: 30080 },
    expect: answered,
  })
  const samples = await lab.daemon.metrics()
  const info = [...samples].filter(
    ([key, value]) => key.startsWith('nodeproxy_mode_info{') && value === 1,
  )
  expect(info.map(([key]) => key)).toEqual([expect.stringContaining(`mode="${mode}"`)])
}

/** Nothing of `old` is left; its connections have ended by now, or soon. */
async function expectGone(old: ModeName): Promise<void> {
  await expect.poll(() => traces(old), { timeout: FORGOTTEN_MS }).toEqual([])
  if (old !== 'ipvs') return
  const state = await netState(lab.node)
  expect(state.filter((line) => /^(-A|-a|route|rule .* fwmark)/.test(line))).toEqual([])
}

const PAIRS = [
  ['iptables', 'ipvs'],
  ['ipvs', 'iptables'],
] as const

test.each(PAIRS)('%s to %s by configuration, on the running daemon', async (from, to) => {
  await serveIn(from)
  await expectServing(from)
  await whileServing(async () => {
    await reconfigure(lab, { mode: to })
    await expect.poll(() => traces(to), { timeout: 20_000 }).not.toEqual([])
    if (from === 'iptables') await expect.poll(() => traces(from), { timeout: 20_000 }).toEqual([])
  })
  await expectGone(from)
  await expectServing(to)
})

test.each(PAIRS)('%s to %s by restart', async (from, to) => {
  await serveIn(from)
  await whileServing(async () => {
    await lab.daemon.kill()
    await lab.daemon.start({ config: { mode: to } })
    await lab.daemon.synced()
  })
  await expectGone(from)
  await expectServing(to)
})

test('there and back again, before the connections of the first mode have ended', async () => {
  await serveIn('ipvs')
  await whileServing(async () => {
    for (const mode of ['iptables', 'ipvs', 'iptables', 'ipvs'] as const) {
      await reconfigure(lab, { mode })
      await lab.daemon.synced()
      await expect.poll(() => traces(mode), { timeout: 20_000 }).not.toEqual([])
    }
  })
  await expectGone('iptables')
  await expectServing('ipvs')
})
