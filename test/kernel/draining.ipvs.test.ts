import { beforeEach, describe, expect, test } from 'vitest'
import type { HeldReport } from '../support/agent/protocol.ts'
import { type Deployment, deploy, objectsOf, redeploy } from '../support/flows/deploy.ts'
import { scheduledBy } from '../support/ipvs/daemon-stage.ts'
import { virtualServer, weights } from '../support/ipvs/table.ts'
import type { Lab } from '../support/lab/lab.ts'
import { sumOf } from '../support/lab/metrics.ts'
import type { EndpointSpec } from '../support/lab/objects.ts'
import { undisturbed } from '../support/lab/undisturbed.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * A backend that leaves keeps its connections and gets no new ones. In the kernel it
 * is a real server of weight 0 until its last connection is forgotten (one that was
 * reset: 10 s) or its time is over.
 */
const VIP = '172.30.42.1'
const SERVER = `TCP ${VIP}:80`
const CLIENT = {
  protocol: 'TCP',
  source: '10.0.0.2',
  destination: VIP,
  port: 80,
  timeoutMs: 10_000,
} as const
/** Beyond the 10 s for which the kernel remembers a connection that was reset. */
const FORGOTTEN_MS = 90_000

/** Odd ones on this node, even ones beyond it. */
function endpointAt(serial: number): EndpointSpec {
  const local = serial % 2 === 1
  return { ip: `10.180.${local ? 0 : 2}.${serial}`, node: local ? 'test-node' : 'far' }
}

function nameOf(serial: number): string {
  return `${endpointAt(serial).ip}:80`
}

function service(...serials: readonly number[]): Deployment {
  return { key: 'ns/drained', clusterIP: VIP, endpoints: serials.map(endpointAt) }
}

/** The backend that answers new connections now; `refused`, `timeout`, … when none does. */
async function answerers(lab: Lab, attempts = 24): Promise<ReadonlySet<string>> {
  const { agent } = await lab.site('pod', CLIENT.source)
  const outcomes = await agent.call('connect', { ...CLIENT, attempts })
  return new Set(outcomes.map((each) => (each.kind === 'answered' ? each.name : each.kind)))
}

/** Long-lived connections of the client, which the test ends before it ends itself. */
async function holding<T>(lab: Lab, count: number, use: (held: Held) => Promise<T>): Promise<T> {
  const { agent } = await lab.site('pod', CLIENT.source)
  const { id, refused } = await agent.call('holdOpen', { ...CLIENT, count, everyMs: 200 })
  expect(refused).toEqual([])
  try {
    return await use({
      check: () => agent.call('holdCheck', { id }),
      report: () => agent.call('holdReport', { id }),
      end: (name) => agent.call('holdEnd', { id, how: 'reset', name }),
    })
  } finally {
    await agent.call('holdEnd', { id, how: 'reset' })
  }
}

interface Held {
  check(): Promise<HeldReport>
  report(): Promise<HeldReport>
  /** Ends those that one backend answers. */
  end(name: string): Promise<HeldReport>
}

const drainingOf = async ({ daemon }: Lab) =>
  sumOf(await daemon.metrics(), 'nodeproxy_draining_backends')

/** Waits until the virtual server has exactly these real servers. */
async function expectWeights(lab: Lab, wanted: Readonly<Record<string, number>>): Promise<void> {
  await expect.poll(() => weights(lab.node, SERVER), { timeout: FORGOTTEN_MS }).toEqual(wanted)
}

describe('with the usual time', () => {
  const lab = useLab()
  beforeEach(() => lab().reset())

  test('all backends replaced under 200 long-lived and many short connections', async () => {
    await deploy(lab(), service(1, 2, 3))
    const traffic = { destination: VIP, held: 200, everyMs: 1000, intervalMs: 20 }
    const { held } = await undisturbed(lab(), traffic, async () => {
      for (const first of [2, 3, 4]) {
        await redeploy(lab(), service(first, first + 1, first + 2))
        const now = [first, first + 1, first + 2].map(nameOf)
        expect(await weights(lab().node, SERVER)).toMatchObject({
          ...Object.fromEntries(now.map((name) => [name, 1])),
          [nameOf(first - 1)]: 0,
        })
        expect(await answerers(lab())).toEqual(new Set(now))
      }
      await expect.poll(() => drainingOf(lab())).toBe(3)
    })
    const counts = [1, 2, 3].map((serial) => held.alive[nameOf(serial)] ?? 0)
    expect(counts.toSorted((a, b) => a - b)).toEqual([66, 67, 67])
    await expectWeights(lab(), { [nameOf(4)]: 1, [nameOf(5)]: 1, [nameOf(6)]: 1 })
    await expect.poll(() => drainingOf(lab())).toBe(0)
  })

  test('a backend that comes back while it drains is restored with its connections', async () => {
    await deploy(lab(), service(1, 2))
    await holding(lab(), 8, async (held) => {
      await redeploy(lab(), service(2))
      await expectWeights(lab(), { [nameOf(1)]: 0, [nameOf(2)]: 1 })
      await redeploy(lab(), service(1, 2))
      await expectWeights(lab(), { [nameOf(1)]: 1, [nameOf(2)]: 1 })
      expect(await answerers(lab())).toEqual(new Set([nameOf(1), nameOf(2)]))
      expect(await held.check()).toMatchObject({
        alive: { [nameOf(1)]: 4, [nameOf(2)]: 4 },
        lost: [],
      })
    })
    await expect.poll(() => drainingOf(lab())).toBe(0)
  })

  test.each(['rr', 'wrr', 'lc', 'wlc', 'sh'])(
    'new connections never reach a draining backend, nor are they refused: %s',
    async (scheduler) => {
      const annotations = scheduledBy(scheduler)
      await deploy(lab(), { ...service(2, 4, 6), annotations })
      const sources = await lab().crowd(25)
      const { agent } = lab().outside
      const request = { ...CLIENT, sources }
      const first = await agent.call('connectEach', request)
      expect(new Set(first.map(({ kind }) => kind))).toEqual(new Set(['answered']))
      const kept = sources.map((source) => agent.call('open', { ...CLIENT, source }))
      const ids = (await Promise.all(kept)).map(({ id }) => id)
      await redeploy(lab(), { ...service(4, 6), annotations })
      expect(await weights(lab().node, SERVER)).toMatchObject({ [nameOf(2)]: 0 })
      const after = await agent.call('connectEach', request)
      const names = after.map((each) => (each.kind === 'answered' ? each.name : each.kind))
      expect(new Set(names)).toEqual(new Set([nameOf(4), nameOf(6)]))
      const alive = await Promise.all(
        ids.map((id) => agent.call('ping', { id, timeoutMs: 10_000 })),
      )
      expect(alive).not.toContain(false)
      await agent.call('resetOpen', null)
    },
  )

  test('SIGKILL and a restart under load: nothing lost, and draining goes on', async () => {
    await deploy(lab(), service(1, 2, 3))
    await holding(lab(), 12, async (held) => {
      await redeploy(lab(), service(2, 3))
      await undisturbed(lab(), { destination: VIP, held: 40 }, async () => {
        await lab().daemon.kill()
        await lab().serve({ ip: endpointAt(4).ip, local: false, ports: [CLIENT] })
        await lab().api.apply(...objectsOf(service(3, 4)))
        expect(await answerers(lab())).toEqual(new Set([nameOf(2), nameOf(3)]))
        await lab().daemon.start()
        await lab().daemon.synced()
        expect(await answerers(lab())).toEqual(new Set([nameOf(3), nameOf(4)]))
      })
      expect(await weights(lab().node, SERVER)).toEqual({
        [nameOf(1)]: 0,
        [nameOf(2)]: 0,
        [nameOf(3)]: 1,
        [nameOf(4)]: 1,
      })
      await expect.poll(() => drainingOf(lab())).toBe(2)
      await held.end(nameOf(1))
      await expectWeights(lab(), { [nameOf(2)]: 0, [nameOf(3)]: 1, [nameOf(4)]: 1 })
      expect(await held.check()).toMatchObject({ alive: { [nameOf(2)]: 4 }, lost: [] })
    })
  })

  test('a Service without endpoints refuses new connections and keeps the others', async () => {
    await deploy(lab(), service(1, 2))
    await holding(lab(), 6, async (held) => {
      await redeploy(lab(), service())
      expect(await answerers(lab())).toEqual(new Set(['refused']))
      expect(await held.check()).toMatchObject({
        alive: { [nameOf(1)]: 3, [nameOf(2)]: 3 },
        lost: [],
      })
      await redeploy(lab(), service(2, 3))
      expect(await answerers(lab())).toEqual(new Set([nameOf(2), nameOf(3)]))
      expect((await held.check()).lost).toEqual([])
    })
  })

  test('connections of a deleted Service live until they end, and then nothing is left', async () => {
    await deploy(lab(), service(1, 2))
    await holding(lab(), 6, async (held) => {
      await lab().api.remove('Service', 'ns/drained')
      await lab().daemon.synced()
      expect(await held.check()).toMatchObject({
        alive: { [nameOf(1)]: 3, [nameOf(2)]: 3 },
        lost: [],
      })
      expect(await virtualServer(lab().node, SERVER)).toBeDefined()
      expect(await answerers(lab())).toEqual(new Set(['refused']))
    })
    await expect
      .poll(() => virtualServer(lab().node, SERVER), { timeout: FORGOTTEN_MS })
      .toBeUndefined()
  })

  test('a UDP backend goes at once, and the client’s next datagram reaches another', async () => {
    const ports = [{ name: 'dns', port: 53, protocol: 'UDP' }] as const
    const dns = (...serials: readonly number[]) => ({ ...service(...serials), ports })
    await deploy(lab(), dns(1))
    const { agent } = await lab().site('pod', CLIENT.source)
    const query = async (sourcePort: number) => {
      const request = { ...CLIENT, protocol: 'UDP', port: 53, sourcePort } as const
      const [outcome] = await agent.call('connect', request)
      return outcome?.kind === 'answered' ? outcome.name : outcome?.kind
    }
    const clients = [9301, 9302, 9303, 9304]
    for (const client of clients) expect(await query(client)).toBe(`${endpointAt(1).ip}:53`)
    await redeploy(lab(), dns(2))
    expect(await weights(lab().node, `UDP ${VIP}:53`)).toEqual({ [`${endpointAt(2).ip}:53`]: 1 })
    for (const client of clients) expect(await query(client)).toBe(`${endpointAt(2).ip}:53`)
  })
})

describe('with a short time', () => {
  const SECONDS = 5
  const lab = useLab({ config: { ipvs: { gracefulTermination: { tcp: `${SECONDS}s` } } } })

  test('connections of a draining backend are ended when it is over', async () => {
    await deploy(lab(), service(1, 2))
    await holding(lab(), 6, async (held) => {
      const since = performance.now()
      await redeploy(lab(), service(2))
      await expectWeights(lab(), { [nameOf(1)]: 0, [nameOf(2)]: 1 })
      const lost = async () => (await held.report()).lost.map(({ name, how }) => `${name} ${how}`)
      await expect
        .poll(lost, { interval: 50 })
        .toEqual([1, 2, 3].map(() => `${nameOf(1)} ECONNRESET`))
      expect(performance.now() - since).toBeGreaterThan((SECONDS - 1) * 1000)
      expect(await weights(lab().node, SERVER)).toEqual({ [nameOf(2)]: 1 })
      expect((await held.check()).alive).toEqual({ [nameOf(2)]: 3 })
    })
    expect(await drainingOf(lab())).toBe(0)
  })
})
