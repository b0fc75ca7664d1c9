import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConnectOutcome, ConnectRequest, LoadReport } from '../../support/agent/protocol.ts'
import { deploy } from '../../support/flows/deploy.ts'
import type { Agent } from '../../support/lab/agent.ts'
import type { DaemonStart } from '../../support/lab/daemon.ts'
import { createLab, type Lab, type LabHost } from '../../support/lab/lab.ts'
import { netState, oursIn } from '../../support/lab/net-state.ts'

/** New connections, one each 10 ms, while the daemon is replaced in every way that operators do. */
let lab: Lab
beforeAll(async () => {
  lab = await createLab()
})
afterAll(() => lab?.close())

interface Placement {
  readonly name: string
  readonly start: DaemonStart
  readonly place: LabHost
  readonly client: Pick<ConnectRequest, 'source' | 'destination' | 'port'>
}

const UNPRIVILEGED_UID = 65_534
/** The kernel ends the connections of a killed process: those with unread bytes by a reset, others without an answer. */
const ENDED_BY_KILL = ['ECONNRESET', 'mute']
/** Connections of the stream at one moment: half a second of it on a busy machine. */
const MAX_UNDER_WAY = 50

const bind = (dataPath: 'native' | 'javascript'): Placement => ({
  name: `bind, ${dataPath}`,
  start: {
    config: { mode: 'userspace', userspace: { dataPath, bindMap: ['127.0.0.1:8080=ns/web'] } },
    user: UNPRIVILEGED_UID,
  },
  place: 'node',
  client: { source: '127.0.0.1', destination: '127.0.0.1', port: 8080 },
})

const REDIRECT: Placement = {
  name: 'redirect',
  start: { config: { mode: 'userspace' } },
  place: 'pod',
  client: { source: '10.0.0.2', destination: '172.30.60.1', port: 80 },
}

async function agentOf({ place, client }: Placement): Promise<Agent> {
  return (await lab.site(place, client.source)).agent
}

/** What came of so many new connections, each once. */
async function kindsOf(placement: Placement, attempts: number): Promise<readonly string[]> {
  const agent = await agentOf(placement)
  const request = { protocol: 'TCP', ...placement.client, attempts, parallel: 2 } as const
  const outcomes = await agent.call('connect', request)
  return [...new Set(outcomes.map(describeOutcome))]
}

async function underStream(placement: Placement, change: () => Promise<void>): Promise<LoadReport> {
  const agent = await agentOf(placement)
  const request = { protocol: 'TCP', ...placement.client, timeoutMs: 30_000 } as const
  const load = await agent.call('loadStart', { ...request, intervalMs: 10 })
  await change()
  await agent.call('connect', { ...request, attempts: 30, parallel: 2 })
  return agent.call('loadStop', { ...load, atLeast: 100 })
}

describe.each([REDIRECT, bind('native'), bind('javascript')])('$name', (placement) => {
  beforeAll(async () => {
    await lab.daemon.start(placement.start)
    await deploy(lab, {
      key: 'ns/web',
      clusterIP: '172.30.60.1',
      endpoints: [1, 2, 3].map((last) => ({ ip: `10.180.2.${last}`, node: 'far' })),
    })
  })
  afterAll(() => lab.daemon.kill())

  test.each([
    ['the next one starts at SIGTERM', false],
    ['the next one starts first, as in a surge upgrade', true],
  ])('%s: no new connection is lost', async (_, surge) => {
    const { failures } = await underStream(placement, async () => {
      expect(await lab.daemon.replace({ ...placement.start, surge })).toBe(0)
      await lab.daemon.synced()
    })
    expect(failures).toEqual([])
  })

  test.runIf(placement === REDIRECT)(
    'SIGTERM, and the next one starts when it has ended: iptables mode forwards in between',
    async () => {
      const { failures } = await underStream(placement, async () => {
        expect(await lab.daemon.stop()).toBe(0)
        expect(await kindsOf(placement, 20)).toEqual(['answered'])
        expect(oursIn(await netState(lab.node), 'iptables')).not.toEqual([])
        await lab.daemon.start(placement.start)
        await lab.daemon.synced()
      })
      expect(failures).toEqual([])
      await expect.poll(async () => oursIn(await netState(lab.node), 'iptables')).toEqual([])
      expect(await kindsOf(placement, 20)).toEqual(['answered'])
    },
  )

  test('kill -9: those under way are lost, at bound addresses new ones as well', async () => {
    const { failures } = await underStream(placement, async () => {
      await lab.daemon.kill()
      await lab.daemon.start(placement.start)
      await lab.daemon.synced()
    })
    const kinds = new Set(failures.map(({ outcome }) => describeOutcome(outcome)))
    if (placement === REDIRECT) {
      expect([...kinds].filter((kind) => !ENDED_BY_KILL.includes(kind))).toEqual([])
      expect(failures.length).toBeLessThanOrEqual(MAX_UNDER_WAY)
    } else expect(kinds).toContain('refused')
    expect((await underStream(placement, async () => {})).failures).toEqual([])
  })
})

function describeOutcome(outcome: ConnectOutcome): string {
  return outcome.kind === 'failed' ? outcome.code : outcome.kind
}
