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
  /** Milliseconds between two words of a long-lived one; 200 unless given. */
  readonly everyMs?: number
  /** Milliseconds between two short connections; 10 unless given. */
  readonly intervalMs?: number
  /** The change has first packets dropped, which their sender repeats: later, but neither refused nor lost. */
  readonly mayRepeat?: boolean
}

export interface TrafficReport {
  readonly load: LoadReport
  readonly held: HeldReport
  /** First packets without an answer within a second. */
  readonly repeated: number
}

/** A busy machine is late; `repeated` shows that no packet was dropped. */
const TIMEOUT_MS = 10_000
/** A change may be done before there were any. */
const MAX_ATTEMPTS = 20

/**
 * Makes short connections all the while and keeps long-lived ones talking. None of
 * either may fail, fall silent or pass the Service by.
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

/** The traffic of `undisturbed`, and what became of it. All of it has ended in the end. */
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
