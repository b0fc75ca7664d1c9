import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Flood } from '../../report/auth/results.ts'
import { quantile } from '../../report/statistics.ts'
import type { Repeats } from '../repeats.ts'
import { startServer } from '../requests/server-process.ts'
import { ATTACKERS, startAttackers } from './attackers-process.ts'

const PER_SECOND = 100
/** Milliseconds from the answer to the first bad token until every connection of the attackers is in use. */
const RAMP_MS = 2_000
const PATH = '/api/v1/namespaces/default/services'

/**
 * Measures how long a good client waits for an answer, alternately while others flood the server with bad tokens and
 * while they do not.
 */
export async function measureFlood(
  { floodRounds, floodSeconds }: Repeats,
  folder: string,
): Promise<Flood> {
  using server = await startServer('token', folder)
  const { url, ca, token = '' } = server.report
  const pool = new Pool(url, { connections: 4, connect: { ca } })
  const steady = () => sendSteadily(floodSeconds, () => timed(pool, token))
  const quiet: number[][] = []
  const flooded: number[][] = []
  const refusedPerSecond: number[] = []
  await steady()
  for (let round = 0; round < floodRounds; round++) {
    quiet.push(await steady())
    using attackers = await startAttackers(server.report)
    await delay(RAMP_MS)
    const [before, began] = [attackers.refused(), performance.now()]
    flooded.push(await steady())
    const seconds = (performance.now() - began) / 1_000
    refusedPerSecond.push((attackers.refused() - before) / seconds)
  }
  await pool.close()
  await server.close()
  const head = { requestsPerSecond: PER_SECOND, attackers: ATTACKERS }
  return { ...head, quiet: waits(quiet), flooded: waits(flooded), refusedPerSecond }
}

/** Sends requests at a steady rate, without waiting for answers. @returns the milliseconds of each */
async function sendSteadily(seconds: number, request: () => Promise<number>): Promise<number[]> {
  const times: Promise<number>[] = []
  const began = performance.now()
  for (let index = 0; index < seconds * PER_SECOND; index++) {
    const due = began + (index * 1_000) / PER_SECOND
    await delay(Math.max(0, due - performance.now()))
    times.push(request())
  }
  return Promise.all(times)
}

async function timed(pool: Pool, token: string): Promise<number> {
  const began = performance.now()
  const headers = { authorization: `Bearer ${token}` }
  const answer = await pool.request({ method: 'GET', path: PATH, headers })
  await answer.body.dump()
  if (answer.statusCode !== 200) {
    throw new Error(`the good client was answered ${answer.statusCode}`)
  }
  return performance.now() - began
}

function waits(rounds: readonly (readonly number[])[]): Flood['quiet'] {
  const at = (share: number) => rounds.map((times) => quantile(times, share))
  return { p50: at(0.5), p99: at(0.99) }
}
