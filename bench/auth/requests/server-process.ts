import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { tieToUs } from '../../../test/support/tie-to-us.ts'
import type { Credentials, ServerReport } from './report.ts'

const PROGRAM = new URL('./server.ts', import.meta.url).pathname

/** A server in a process of its own, which ends with its standard input. */
export async function startServer(how: Credentials) {
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, how]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  tieToUs(child)
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, report: JSON.parse(line) as ServerReport }
}
