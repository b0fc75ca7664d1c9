import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxOptions } from './arguments.ts'
import { writeOrders } from './inside/orders.ts'
import { namespacesOf, type Removed, removeDeadRuns, removeRun } from './leftovers.ts'
import { addNamespace } from './network/namespace.ts'
import { CONTROL } from './network/topology.ts'
import { namespaceOf, type Run, runName } from './run.ts'

const PROGRAM = new URL('./inside/main.ts', import.meta.url).pathname
/** How long the process inside may take to end after a signal. */
const END_MS = 15_000

/**
 * Runs the sandbox in a process of its own, inside the control namespace, and
 * removes everything when it has ended, in whatever way. Returns the exit code.
 *
 * Two processes, because cleaning up must not depend on what is cleaned up: the
 * one inside may crash, hang or be killed. `nsenter` keeps the machine's mounts,
 * so that the namespaces made inside are there for every terminal.
 */
export async function supervise(options: SandboxOptions): Promise<number> {
  for (const removed of removeDeadRuns()) complain(`removed what a dead run left: ${list(removed)}`)
  const name = runName(process.pid)
  const clean = (): void => void removeRun(name)
  process.once('exit', clean)
  const run: Run = { name, folder: mkdtempSync(join(tmpdir(), `${name}-`)) }
  const control = namespaceOf(name, CONTROL)
  await addNamespace(control)
  const code = await runInside(control, writeOrders({ run, options }))
  const removed = removeRun(name)
  process.off('exit', clean)
  return report(removed, code)
}

async function runInside(namespace: string, orders: string): Promise<number> {
  const command = [`--net=/run/netns/${namespace}`, process.execPath, PROGRAM, orders]
  const child = spawn('nsenter', command, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  const forward = (signal: NodeJS.Signals): void => {
    child.kill(signal)
    setTimeout(() => child.kill('SIGKILL'), END_MS).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, forward)
  const [code, how] = await new Promise<[number | null, string]>((resolve) => {
    child.once('error', (error) => resolve([1, error.message]))
    child.once('exit', (status, signal) => resolve([status, String(signal)]))
  })
  if (code !== null) return code
  complain(`the process inside ended: ${how}`)
  return 1
}

function report(removed: Removed, code: number): number {
  const left = namespacesOf(removed.run)
  if (left.length > 0) {
    complain(`could not remove ${left.join(', ')}`)
    return 1
  }
  process.stdout.write(`cleaned up: ${removed.namespaces.length} namespaces are gone\n`)
  return code
}

function list({ namespaces, processes, run }: Removed): string {
  return namespaces.length === 0 ? run : `${namespaces.join(', ')} (${processes} processes)`
}

function complain(text: string): void {
  process.stderr.write(`sandbox: ${text}\n`)
}
