import { afterEach, describe, expect, test } from 'vitest'
import type { LorisCalls } from '../../support/forwarding/loris.script.ts'
import { type Attack, KEPT, PORT, Siege } from '../../support/forwarding/siege.ts'
import type { SpooferCalls } from '../../support/forwarding/spoofer.script.ts'
import { Stage } from '../../support/forwarding/stage.ts'

let stage: Stage
afterEach(() => stage.close())

const MIB = 1 << 20
/** For those who may come after the ones that are measured. */
const LAST = { nice: 10 } as const
const LIMIT = 2_000

/** Bytes that 8,800 connections may take, and that may stay until the next collection. */
const MEMORY = 128 * MIB

/** Honest clients hardly notice, and everything goes back. */
async function expectUnimpressed(siege: Siege, attack: Attack): Promise<void> {
  const before = await siege.usage()
  const { ratio, failures } = await siege.slowdown(attack)
  expect(failures).toBe(0)
  expect(ratio).toBeLessThan(2)
  expect(await siege.forwarder.call('untilClients', KEPT)).toBe(true)
  const after = await siege.usage()
  expect(after.sockets).toBe(before.sockets + 2 * KEPT)
  expect(after.rss).toBeLessThan(before.rss + MEMORY)
  expect(siege.lostWorkers).toEqual([])
}

/** Whatever else the machine does may spoil one measurement; three in a row it does not. */
const PATIENTLY = { retry: 2 } as const

describe.each(['native'] as const)('%s', PATIENTLY, (dataPath) => {
  test('10,000 connections that are half open', async () => {
    stage = await Stage.build()
    const siege = await Siege.begin(stage, dataPath)
    const spoofer = await stage.start<SpooferCalls>('clients', 'spoofer.script.ts', LAST)
    const halfOpen: number[] = []
    await expectUnimpressed(siege, {
      async begin() {
        await spoofer.call('begin', { port: PORT, count: 10_000, perSecond: 500 })
        halfOpen.push(await siege.forwarder.call('halfOpen'))
      },
      end: () => spoofer.call('end', PORT),
    })
    expect(Math.min(...halfOpen)).toBeGreaterThan(4_000)
    expect(await siege.forwarder.call('halfOpen')).toBe(0)
  })

  test('as many slow clients as there are descriptors, of few addresses', async () => {
    stage = await Stage.build()
    const limits = { workers: 1, connections: 9_000, perClient: 2_200 }
    const siege = await Siege.begin(stage, dataPath, limits)
    const loris = await stage.start<LorisCalls>('clients', 'loris.script.ts', LAST)
    const swarm = { port: PORT, count: 10_000, addresses: 4, bytesPerSecond: 500 }
    const [held, memory]: [number[], number[]] = [[], []]
    const { rss } = await siege.usage()
    await expectUnimpressed(siege, {
      async begin() {
        await loris.call('hold', swarm)
        held.push((await siege.forwarder.call('counts')).connectionsNow)
        memory.push((await siege.usage()).rss)
      },
      async end() {
        await loris.call('letGo')
        await siege.forwarder.call('untilClients', KEPT)
      },
    })
    expect(new Set(held)).toEqual(new Set([swarm.addresses * limits.perClient + KEPT]))
    expect(Math.max(...memory)).toBeLessThan(rss + MEMORY)
    const refused = swarm.count - swarm.addresses * limits.perClient
    expect((await siege.forwarder.call('counts')).overLimit).toBe(refused * held.length)
  })

  test('clients that reset what they have just begun', async () => {
    stage = await Stage.build()
    const siege = await Siege.begin(stage, dataPath)
    const loris = await stage.start<LorisCalls>('clients', 'loris.script.ts', LAST)
    let resets = 0
    await expectUnimpressed(siege, {
      begin: () => loris.call('startResets', { port: PORT, perSecond: 500 }),
      async end() {
        resets = await loris.call('stopResets')
      },
    })
    expect(resets).toBeGreaterThan(1_000)
    expect(await siege.forwarder.call('counts')).toMatchObject({ overLimit: 0, unserved: 0 })
  })

  test('more clients than allowed, listeners without a Service, datagrams of any size', async () => {
    stage = await Stage.build()
    const limits = { connections: LIMIT, perClient: 500, udpIdleMs: 3_000 }
    const { forwarder, prober } = await Siege.begin(stage, dataPath, limits)
    const loris = await stage.start<LorisCalls>('clients', 'loris.script.ts', LAST)
    const spoofer = await stage.start<SpooferCalls>('clients', 'spoofer.script.ts', LAST)
    const full = { count: LIMIT + 500, addresses: 100, bytesPerSecond: 0 }
    await loris.call('hold', { port: PORT, ...full })
    const { connectionsNow, overLimit } = await forwarder.call('counts')
    expect(connectionsNow).toBeLessThanOrEqual(LIMIT + 1)
    expect(connectionsNow + overLimit).toBe(full.count)
    await loris.call('letGo')
    expect(await forwarder.call('untilClients', 0)).toBe(true)

    expect(await prober.call('echo', { port: PORT, bytes: 65_507 })).toBe(true)
    await spoofer.call('datagrams', { port: PORT, count: 10_000 })
    const { udpFlows, udpFlowsNow, evicted } = await forwarder.call('counts')
    expect(udpFlows).toBeGreaterThan(LIMIT / 2)
    expect(udpFlowsNow).toBeLessThanOrEqual(LIMIT / 4 + 1)
    expect(evicted).toBeGreaterThan(0)
    expect(await forwarder.call('untilClients', 0)).toBe(true)
    expect(await prober.call('echo', { port: PORT, bytes: 1 })).toBe(true)

    expect(await prober.call('tryConnect', PORT)).toBe('connected')
    expect(await prober.call('tryConnect', PORT + 1)).toBe('ECONNREFUSED')
    await forwarder.call('removeAll')
    expect(await prober.call('tryConnect', PORT)).toBe('ECONNREFUSED')
  })
})
