import { beforeAll, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { netState, oursIn } from '../support/lab/net-state.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'
import { type Traffic, undisturbed } from '../support/lab/undisturbed.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * One mode takes the node over from the other: new connections meet one of the two at
 * every moment, those that exist go on, and in the end nothing of the old one is left.
 */
const lab = useLab({ config: { mode: 'iptables' } })

const VIP = '172.30.46.1'
const PREFIX = { iptables: 'NPROXY-', ipvs: 'NPVS-' } as const
type ModeName = keyof typeof PREFIX
/**
 * IPVS remembers a connection that was reset for 10 s. Should a client take the same port
 * again meanwhile, the reply to its new connection makes that two minutes (SYN_SENT).
 */
const FORGOTTEN_MS = 150_000
const TIMEOUT_MS = 400_000
const TAKEN_MS = 40_000

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

beforeAll(async () => {
  await deploy(lab(), {
    key: 'ns/moved',
    clusterIP: VIP,
    endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.2', node: 'far' }],
    ports: [{ name: '', port: 80, nodePort: 30080 }],
    spec: { type: 'NodePort' },
  })
})

const traces = async (mode: ModeName) => oursIn(await netState(lab().node), PREFIX[mode])

async function modesAtWork(): Promise<readonly string[]> {
  const samples = [...(await lab().daemon.metrics())]
  return samples.flatMap(([key, value]) => {
    const mode = /^nodeproxy_mode_info\{.*mode="(\w+)"/.exec(key)?.[1]
    return mode !== undefined && value === 1 ? [mode] : []
  })
}

/** Each test begins in the mode that it names, whatever became of the one before. */
async function beginIn(mode: ModeName): Promise<void> {
  if (!lab().daemon.isRunning()) await lab().daemon.start({ config: { mode } })
  else if ((await modesAtWork())[0] !== mode) await reconfigure(lab(), { mode })
  await expectTaken(mode)
}

/** Both ways in, under load and with connections held, while `change` happens. */
async function whileServing(change: () => Promise<void>): Promise<void> {
  await undisturbed(lab(), POD, async () => {
    await undisturbed(lab(), OUTSIDE, change)
  })
}

/** The mode is at work and serves; nothing of the other is left once its connections have ended. */
async function expectTaken(mode: ModeName): Promise<void> {
  const other = mode === 'ipvs' ? 'iptables' : 'ipvs'
  await expect.poll(() => traces(other), { timeout: FORGOTTEN_MS, interval: 500 }).toEqual([])
  expect(await traces(mode)).not.toEqual([])
  if (mode === 'iptables') {
    const state = await netState(lab().node)
    expect(state.filter((line) => /^(-A|-a|route|rule .* fwmark)/.test(line))).toEqual([])
  }
  await expectServed(POD)
  await expectServed(OUTSIDE)
  expect(await modesAtWork()).toEqual([mode])
}

/** Few connections, lest a port comes again while IPVS remembers it. */
async function expectServed({ place = 'pod', source, destination, port }: Traffic): Promise<void> {
  const to = { source: source ?? '10.0.0.2', destination, port: port ?? 80 }
  const outcomes = await lab().connect(place, { ...to, attempts: 20, untilDistinct: 2 })
  const names = outcomes.map((outcome) => (outcome.kind === 'answered' ? outcome.name : outcome))
  expect(new Set(names)).toEqual(new Set(['10.180.0.1:80', '10.180.2.2:80']))
}

const PAIRS = [
  ['iptables', 'ipvs'],
  ['ipvs', 'iptables'],
] as const

test.each(PAIRS)(
  '%s to %s by configuration, on the running daemon',
  async (from, to) => {
    await beginIn(from)
    await whileServing(async () => {
      await reconfigure(lab(), { mode: to })
      await expect.poll(() => traces(to), { timeout: TAKEN_MS, interval: 500 }).not.toEqual([])
      if (to === 'iptables') return
      await expect.poll(() => traces(from), { timeout: TAKEN_MS, interval: 500 }).toEqual([])
    })
    await expectTaken(to)
  },
  TIMEOUT_MS,
)

test.each(PAIRS)(
  '%s to %s by restart',
  async (from, to) => {
    await beginIn(from)
    await whileServing(async () => {
      await lab().daemon.kill()
      await lab().daemon.start({ config: { mode: to } })
      await lab().daemon.synced()
    })
    await expectTaken(to)
  },
  TIMEOUT_MS,
)

test(
  'there and back again, before the connections of the first mode have ended',
  async () => {
    await beginIn('ipvs')
    await whileServing(async () => {
      for (const mode of ['iptables', 'ipvs', 'iptables', 'ipvs'] as const) {
        await reconfigure(lab(), { mode })
        await expect.poll(modesAtWork, { timeout: TAKEN_MS, interval: 500 }).toEqual([mode])
      }
    })
    await expectTaken('ipvs')
  },
  TIMEOUT_MS,
)
