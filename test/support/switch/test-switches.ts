import { beforeAll, expect, test } from 'vitest'
import { deploy } from '../flows/deploy.ts'
import { type ModeName, netState, oursIn } from '../lab/net-state.ts'
import { reconfigure } from '../lab/reconfigure.ts'
import { type Traffic, undisturbed } from '../lab/undisturbed.ts'
import { useLab } from '../lab/use-lab.ts'

/** How the tests of one pair of modes differ from those of others. */
export interface SwitchOptions {
  /** Milliseconds until nothing is left of a mode whose connections were reset. */
  readonly forgottenMs: number
  /** Whether the old mode is removed at once, and not only after its connections have ended. */
  readonly leavesAtOnce: (mode: ModeName) => boolean
  /** How clients connect. */
  readonly pace: Pick<Traffic, 'held' | 'everyMs' | 'intervalMs'>
}

const VIP = '172.30.46.1'
const TIMEOUT_MS = 400_000
const TAKEN_MS = 200_000

/**
 * Tests that one mode takes over the node from the other: at every moment one of the two serves new connections,
 * existing connections continue, and in the end nothing of the old mode is left.
 */
export function testSwitches(
  [one, two]: readonly [ModeName, ModeName],
  { forgottenMs, leavesAtOnce, pace }: SwitchOptions,
): void {
  const lab = useLab({ config: { mode: one } })
  const pod: Traffic = { ...pace, destination: VIP }
  const outside: Traffic = {
    ...pace,
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

  const traces = async (mode: ModeName) => oursIn(await netState(lab().node), mode)

  async function modesAtWork(): Promise<readonly string[]> {
    const samples = [...(await lab().daemon.metrics())]
    return samples.flatMap(([key, value]) => {
      const mode = /^nodeproxy_mode_info\{.*mode="(\w+)"/.exec(key)?.[1]
      return mode !== undefined && value === 1 ? [mode] : []
    })
  }

  /** Makes a test begin in the mode that it names, whatever the test before left. */
  async function beginIn(mode: ModeName): Promise<void> {
    if (!lab().daemon.isRunning()) await lab().daemon.start({ config: { mode } })
    else if ((await modesAtWork())[0] !== mode) await reconfigure(lab(), { mode })
    await expectTaken(mode)
  }

  /** Makes connections to ClusterIP and node port, short and long-lived ones, while `change` happens. */
  async function whileServing(change: () => Promise<void>): Promise<void> {
    await undisturbed(lab(), pod, async () => {
      await undisturbed(lab(), outside, change)
    })
  }

  /** Expects that the mode serves, and that nothing of the other is left after its connections have ended. */
  async function expectTaken(mode: ModeName): Promise<void> {
    const other = mode === one ? two : one
    await expect.poll(() => traces(other), { timeout: forgottenMs, interval: 500 }).toEqual([])
    expect(await traces(mode)).not.toEqual([])
    if (mode !== 'ipvs') {
      const state = await netState(lab().node)
      expect(state.filter((line) => /^(-A|-a|route|rule .* fwmark)/.test(line))).toEqual([])
    }
    await expectServed(pod)
    await expectServed(outside)
    expect(await modesAtWork()).toEqual([mode])
  }

  /** Expects that connections are served; only a few, so that no port is reused while IPVS remembers it. */
  async function expectServed({
    place = 'pod',
    source,
    destination,
    port,
  }: Traffic): Promise<void> {
    const to = { source: source ?? '10.0.0.2', destination, port: port ?? 80 }
    const outcomes = await lab().connect(place, { ...to, attempts: 20, untilDistinct: 2 })
    const names = outcomes.map((outcome) => (outcome.kind === 'answered' ? outcome.name : outcome))
    expect(new Set(names)).toEqual(new Set(['10.180.0.1:80', '10.180.2.2:80']))
  }

  const PAIRS = [
    [one, two],
    [two, one],
  ] as const

  test.each(PAIRS)(
    '%s to %s by configuration, on the running daemon',
    async (from, to) => {
      await beginIn(from)
      await whileServing(async () => {
        await reconfigure(lab(), { mode: to })
        await expect.poll(() => traces(to), { timeout: TAKEN_MS, interval: 500 }).not.toEqual([])
        if (!leavesAtOnce(from)) return
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
      await beginIn(two)
      await whileServing(async () => {
        for (const mode of [one, two, one, two]) {
          await reconfigure(lab(), { mode })
          await expect.poll(modesAtWork, { timeout: TAKEN_MS, interval: 500 }).toEqual([mode])
        }
      })
      await expectTaken(two)
    },
    TIMEOUT_MS,
  )
}
