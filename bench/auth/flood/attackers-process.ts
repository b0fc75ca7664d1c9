import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { tieToUs } from '../../../test/support/tie-to-us.ts'
import type { ServerReport } from '../requests/report.ts'

const PROGRAM = new URL('./attackers.ts', import.meta.url).pathname

/** Connections that send bad tokens. */
export const ATTACKERS = 16

/** Attackers, which attack until they are disposed of. */
export interface Attackers extends Disposable {
  /** The number of bad tokens answered so far. Throws if the attackers have ended. */
  refused(): number
}

/** Resolves with the answer to the first bad token. */
export async function startAttackers(report: ServerReport): Promise<Attackers> {
  const order = JSON.stringify({ ...report, connections: ATTACKERS })
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, order]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  tieToUs(child)
  const lines = createInterface({ input: child.stdout })
  let refused = 0
  lines.on('line', (line) => {
    refused = Number(line)
  })
  await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('the attackers ended'))),
  ])
  return {
    refused() {
      if (child.exitCode !== null) throw new Error('the attackers ended')
      return refused
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
