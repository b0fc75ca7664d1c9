import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { tieToUs } from '../../../test/support/tie-to-us.ts'
import { cpuSeconds } from '../../daemon/process-tree.ts'
import { residentKib } from './resident.ts'
import type { MeasuredServer } from './server.ts'

const PROGRAM = new URL('./bare-main.ts', import.meta.url).pathname

export type BareServer = Pick<MeasuredServer, 'target' | 'resident' | 'cpuSeconds'> & Disposable

/** Starts the bare HTTPS server of Node in a process of its own, with the certificate of the measured server. */
export async function startBareServer({ pki, target }: MeasuredServer): Promise<BareServer> {
  const child = spawn(process.execPath, [PROGRAM, pki], { stdio: ['ignore', 'pipe', 'inherit'] })
  tieToUs(child)
  const [port] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('the bare server ended'))),
  ])) as [string]
  const pid = child.pid ?? 0
  return {
    target: { url: `https://127.0.0.1:${port}`, ca: target.ca },
    resident: () => residentKib(pid),
    cpuSeconds: () => cpuSeconds(pid),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
