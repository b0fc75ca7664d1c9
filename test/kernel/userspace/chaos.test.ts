import { afterEach, expect, test } from 'vitest'
import { Chaos } from '../../support/forwarding/chaos.ts'
import { Stage } from '../../support/forwarding/stage.ts'

let stage: Stage | undefined
afterEach(async () => {
  await stage?.close()
})

const ROUNDS = 3
/** In each round two of six backends are cut off and one stays too long with some. */
const CONVERSATIONS = 1_000
const STUBBORN = 90
/** Bytes by which memory may differ after a round from that after the first one. */
const SLACK = { native: 32 << 20, javascript: 96 << 20 } as const

test.each(['native', 'javascript'] as const)(
  '%s: 1,000 conversations while backends come and go',
  async (dataPath) => {
    stage = await Stage.build()
    const chaos = await Chaos.begin(stage, dataPath)
    const before = await chaos.usage()
    const memory: number[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      const options = { seed: round, count: CONVERSATIONS, stubborn: STUBBORN }
      const { verdict, connected, isOver, counts } = await chaos.round(options)
      expect(verdict.faults).toEqual([])
      expect(connected).toBe(true)
      expect(verdict.whole).toBeGreaterThan(CONVERSATIONS / 2)
      for (const cut of Object.values(verdict.cut)) expect(cut).toBeGreaterThan(0)
      expect(isOver).toBe(true)
      expect(counts).toMatchObject({ connectionsNow: 0, unserved: 0, overLimit: 0, drainingNow: 0 })
      expect(counts.connectRetries).toBeGreaterThan(0)
      const usage = await chaos.usage()
      expect(usage.sockets).toBe(before.sockets)
      memory.push(usage.rss)
    }
    expect(Math.max(...memory.slice(1))).toBeLessThan((memory[0] ?? 0) + SLACK[dataPath])
    const { first, last } = await chaos.end()
    expect(last).toEqual(first)
    expect(chaos.lostWorkers).toEqual([])
  },
)
