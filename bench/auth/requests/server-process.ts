import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { tieToUs } from '../../../test/support/tie-to-us.ts'
import type { SubjectName } from '../../report/auth/results.ts'
import type { LastReport, ServerReport } from './report.ts'

const PROGRAM = new URL('./server.ts', import.meta.url).pathname

/** A server in a process of its own; killed when it is disposed of. */
export interface ServerProcess extends Disposable {
  readonly report: ServerReport
  /** Stops the server as an operator would. */
  close(): Promise<LastReport>
}

/** Starts a server with its data in a folder below `parent`. Throws if it ends before it is ready. */
export async function startServer(subject: SubjectName, parent: string): Promise<ServerProcess> {
  const folder = mkdtempSync(join(parent, `${subject}-`))
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, subject, folder]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  tieToUs(child)
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, 'exit')
  const nextLine = async (): Promise<unknown> => {
    const line = once(lines, 'line') as Promise<[string]>
    const early = ended.then(() => Promise.reject(new Error('the server ended')))
    return JSON.parse((await Promise.race([line, early]))[0])
  }
  return {
    report: (await nextLine()) as ServerReport,
    async close() {
      const last = nextLine()
      child.stdin.end()
      const report = (await last) as LastReport
      await ended
      return report
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
