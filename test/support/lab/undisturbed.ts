import { expect } from 'vitest'
import type { HeldReport, LoadReport } from '../agent/protocol.ts'
import type { Lab, LabHost } from './lab.ts'
import { repeatedSyns } from './tcp-counters.ts'

export interface Traffic {
  /** Where the clients are; a pod unless given. */
  readonly place?: LabHost
  readonly source?: string
  readonly destination: string
  /** 80 unless given. */
  readonly port?: number
  /** Long-lived connections; 20 unless given. */
  readonly held?: number
  /** Milliseconds between two bytes of a long-lived connection; 200 unless given. */
  readonly everyMs?: number
  /** Milliseconds between two short connections; 10 unless given. */
  readonly intervalMs?: number
  /**
   * Whether the change may drop SYNs, which their sender repeats: connections are late, but neither refused nor lost.
   */
  readonly mayRepeat?: boolean
}

export interface TrafficReport {
  readonly load: LoadReport
  readonly held: HeldReport
  /** The number of SYNs without an answer within a second. */
  readonly repeated: number
}

/** Long, because a busy machine is late; `repeated` shows that no packet was dropped. */
const TIMEOUT_MS = 10_000
/** The least number of attempts, because a change may be over before the first one. */
const MAX_ATTEMPTS = 20

/**
 * Makes short connections, and exchanges bytes on long-lived ones, while something happens. None of them may fail, stay
 * without an answer, or bypass the Service.
 */
export async function undisturbed(
  lab: Lab,
  traffic: Traffic,
  change: () => Promise<void>,
): Promise<TrafficReport> {
  const report = await underTraffic(lab, traffic, change)
  const { load, held, repeated } = report
  expect([load.failed, load.failures]).toEqual([0, []])
  expect(load.attempts).toBeGreaterThan(10)
  expect(Object.keys(load.answers).filter((name) => name.startsWith('sink:'))).toEqual([])
  expect([held.refused, held.lost]).toEqual([[], []])
  if (traffic.mayRepeat !== true) expect(repeated).toBe(0)
  return report
}

/** Makes the traffic of `undisturbed`, and returns its outcome. All connections have ended when it resolves. */
export async function underTraffic(
  lab: Lab,
  traffic: Traffic,
  change: () => Promise<void>,
): Promise<TrafficReport> {
  const { place = 'pod', source = '10.0.0.2', destination, port = 80 } = traffic
  const { held: count = 20, everyMs = 200, intervalMs = 10 } = traffic
  const { agent } = await lab.site(place, source)
  const client = { protocol: 'TCP', source, destination, port, timeoutMs: TIMEOUT_MS } as const
  const repeatedBefore = await repeatedSyns(agent)
  const { id } = await agent.call('holdOpen', { ...client, count, everyMs })
  const running = await agent.call('loadStart', { ...client, intervalMs })
  const ended = Promise.withResolvers<readonly [LoadReport, HeldReport]>()
  try {
    await change()
    await agent.call('connect', { ...client, attempts: 30, parallel: 2 })
  } finally {
    const load = await agent.call('loadStop', { ...running, atLeast: MAX_ATTEMPTS })
    ended.resolve([load, await agent.call('holdCheck', { id })])
    await agent.call('holdEnd', { id, how: 'reset' })
  }
  const [load, held] = await ended.promise
  return { load, held, repeated: (await repeatedSyns(agent)) - repeatedBefore }
}
