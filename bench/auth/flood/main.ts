import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { Pool } from 'undici'
import { tieToUs } from '../../../test/support/tie-to-us.ts'
import type { ServerReport } from '../requests/report.ts'
import { startServer } from '../requests/server-process.ts'

/**
 * How long a good client waits for an answer while others flood the server with bad tokens, and while
 * they do not, in rounds one after the other. Prints JSON, in milliseconds.
 *
 *     scripts/node bench/auth/flood/main.ts [ROUNDS]
 */
const ROUNDS = Number(process.argv[2] ?? 7)
const SECONDS = 5
const PER_SECOND = 100
const ATTACKERS = new URL('./attackers.ts', import.meta.url).pathname
/** In which the attackers have made their tokens and their connections. */
const WARM_UP_MS = 3000
const PATH = '/api/v1/namespaces/default/services'

await main()

async function main(): Promise<void> {
  const { report, child } = await startServer('token')
  const { url, ca, token = '' } = report
  const pool = new Pool(url, { connections: 4, connect: { ca } })
  const request = () => timed(pool, token)
  const [quiet, flooded]: [number[][], number[][]] = [[], []]
  await steady(request)
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(await steady(request))
    const attackers = startAttackers(report)
    await setTimeout(WARM_UP_MS)
    flooded.push(await steady(request))
    attackers.kill('SIGKILL')
    await once(attackers, 'exit')
  }
  await pool.close()
  child.stdin.end()
  const result = { quiet: summary(quiet), flooded: summary(flooded) }
  process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`)
}

function startAttackers(report: ServerReport) {
  const args = ['--disable-warning=ExperimentalWarning', ATTACKERS, JSON.stringify(report)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  tieToUs(child)
  return child
}

/** Requests at a steady rate, whether the one before is answered or not; sorted times. */
async function steady(request: () => Promise<number>): Promise<number[]> {
  const times: Promise<number>[] = []
  const began = performance.now()
  for (let index = 0; index < SECONDS * PER_SECOND; index++) {
    const due = began + (index * 1000) / PER_SECOND
    await setTimeout(Math.max(0, due - performance.now()))
    times.push(request())
  }
  return (await Promise.all(times)).toSorted((a, b) => a - b)
}

async function timed(pool: Pool, token: string): Promise<number> {
  const began = performance.now()
  const headers = { authorization: `Bearer ${token}` }
  const answer = await pool.request({ method: 'GET', path: PATH, headers })
  await answer.body.dump()
  if (answer.statusCode !== 200)
    throw new Error(`the good client was answered ${answer.statusCode}`)
  return performance.now() - began
}

/** Medians over the rounds, with the lowest and the highest. */
function summary(rounds: readonly (readonly number[])[]) {
  const at = (share: number) => {
    const values = rounds.map((times) => times[Math.floor(times.length * share)] ?? 0)
    const sorted = values.toSorted((a, b) => a - b).map((ms) => Number(ms.toFixed(2)))
    return { median: sorted[sorted.length >> 1], lowest: sorted[0], highest: sorted.at(-1) }
  }
  return { p50: at(0.5), p99: at(0.99) }
}
