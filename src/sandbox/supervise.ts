import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addNamespace } from './network/namespace.ts'
import { CONTROL } from './network/topology.ts'
import type { SandboxOptions } from './run/arguments.ts'
import { namespacesOf, type Removed, removeDeadRuns, removeRun } from './run/leftovers.ts'
import {
  codeOfInterruption,
  namespaceOf,
  type Orders,
  type Run,
  runName,
  writeOrders,
} from './run/run.ts'
import { LEAVE } from './screen/terminal.ts'

const PROGRAM = new URL('./inside-main.ts', import.meta.url).pathname
/** How many milliseconds the process inside may take to end after a signal. */
const END_MS = 15_000

/**
 * Runs the sandbox in a process of its own, inside the control namespace, and removes everything after that process has
 * ended, for whatever reason. Returns the exit code.
 *
 * There are two processes, because the one inside may crash, hang or be killed, and cleaning up must not depend on it.
 * `nsenter` keeps the machine's mount namespace, so that every terminal can use the network namespaces made inside.
 */
export async function supervise(options: SandboxOptions): Promise<number> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  for (const removed of removeDeadRuns())
    printError(`removed what a dead run left: ${list(removed)}`)
  const name = runName(process.pid)
  process.once('exit', () => void removeRun(name))
  const run: Run = { name, folder: mkdtempSync(join(tmpdir(), `${name}-`)) }
  const control = namespaceOf(name, CONTROL)
  await addNamespace(control)
  const code = await runInside(control, { run, options })
  return report(removeRun(name), code)
}

async function runInside(namespace: string, orders: Orders): Promise<number> {
  const command = [`--net=/run/netns/${namespace}`, process.execPath, PROGRAM, writeOrders(orders)]
  const child = spawn('nsenter', command, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  let isInterrupted = false
  const forward = (signal: NodeJS.Signals): void => {
    isInterrupted = true
    child.kill(signal)
    setTimeout(() => child.kill('SIGKILL'), END_MS).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, forward)
  const [code, how] = await new Promise<[number | null, string]>((resolve) => {
    child.once('error', (error) => resolve([1, error.message]))
    child.once('exit', (status, signal) => resolve([status, String(signal)]))
  })
  if (code !== null) return code
  restoreTerminal()
  if (isInterrupted) return codeOfInterruption(orders.options)
  printError(`the process inside was ended by ${how}`)
  return 1
}

/** Restores the terminal, which a killed process could not do itself. */
function restoreTerminal(): void {
  if (process.stdout.isTTY) process.stdout.write(LEAVE)
  if (process.stdin.isTTY) spawnSync('stty', ['sane'], { stdio: 'inherit' })
}

function report(removed: Removed, code: number): number {
  const left = namespacesOf(removed.run)
  if (left.length > 0) {
    printError(`could not remove ${left.join(', ')}`)
    return 1
  }
  process.stdout.write(`cleaned up: ${removed.namespaces.length} namespaces are gone\n`)
  return code
}

function list({ namespaces, processes, run }: Removed): string {
  return namespaces.length === 0 ? run : `${namespaces.join(', ')} (${processes} processes)`
}

function printError(text: string): void {
  process.stderr.write(`sandbox: ${text}\n`)
}
