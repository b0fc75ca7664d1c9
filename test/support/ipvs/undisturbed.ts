import { expect } from 'vitest'
import type { HeldReport, LoadReport } from '../agent/protocol.ts'
import type { Lab, Place } from '../lab/lab.ts'

export interface Traffic {
  /** Where the clients are; a pod unless given. */
  readonly place?: Place
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
}

export interface TrafficReport {
  readonly load: LoadReport
  readonly held: HeldReport
}

/**
 * Makes short connections all the while and keeps long-lived ones talking. None of
 * either may fail or fall silent.
 */
export async function undisturbed(
  lab: Lab,
  traffic: Traffic,
  change: () => Promise<void>,
): Promise<TrafficReport> {
  const { place = 'pod', source = '10.0.0.2', destination, port = 80 } = traffic
  const { agent } = await lab.site(place, source)
  const client = { protocol: 'TCP', source, destination, port } as const
  const patient = { ...client, timeoutMs: 5000 }
  const count = traffic.held ?? 20
  const everyMs = traffic.everyMs ?? 200
  const { id, refused } = await agent.call('holdOpen', { ...patient, count, everyMs })
  expect(refused).toEqual([])
  const intervalMs = traffic.intervalMs ?? 10
  const running = await agent.call('loadStart', { ...client, timeoutMs: 900, intervalMs })
  const stopped = Promise.withResolvers<LoadReport>()
  try {
    await change()
  } finally {
    await agent.call('connect', { ...client, attempts: 30, parallel: 2 })
    stopped.resolve(agent.call('loadStop', running))
  }
  const load = await stopped.promise
  const talking = await agent.call('holdCheck', { id })
  expect([load.failed, load.failures]).toEqual([0, []])
  expect(load.attempts).toBeGreaterThan(10)
  expect(talking.lost).toEqual([])
  const held = await agent.call('holdEnd', { id, how: 'reset' })
  return { load, held }
}
