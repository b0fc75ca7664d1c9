import { type StdioOptions, spawn } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { initScript } from './init-script.ts'
import { findInstallation } from './installation.ts'
import type { Kernel, KernelOutcome, KernelRun, Share } from './kernel-run.ts'
import { processorFor } from './processor.ts'
import { lineOf, RunningKernel } from './running-kernel.ts'
import { findMemoryFolder, makeScratch, SHELL_SOCKET } from './scratch.ts'
import { openShellSocket } from './shell-socket.ts'
import { rememberTerminal } from './terminal.ts'
import { withWholeRegisters } from './whole-registers.ts'

const MEMORY = 1024

/**
 * Runs a command in a kernel of its own, and returns how it ended. Throws what
 * `startKernel` throws, and what `Kernel.ended` rejects with.
 */
export async function bootKernel(run: KernelRun): Promise<KernelOutcome> {
  const kernel = await startKernel(run)
  return kernel.ended
}

/**
 * Starts a kernel with the command in it. Throws NP_UML_MISSING where User-mode
 * Linux is not installed, and NP_UML_MEMORY where memory is missing for it.
 */
export async function startKernel(run: KernelRun): Promise<Kernel> {
  const { memory = MEMORY } = run
  const { program, release, modules } = await findInstallation()
  const folder = await findMemoryFolder(memory)
  const terminal = run.terminal === true ? rememberTerminal() : undefined
  const scratch = await makeScratch()
  const registers = await withWholeRegisters(scratch).catch(async (error: unknown) => {
    await rm(scratch, { recursive: true })
    throw error
  })
  const init = join(scratch, 'init')
  const seen = { ...run, share: [...ownFolder(), ...(run.share ?? [])] }
  const text = initScript({ run: seen, release, modules, size: terminal?.size ?? '' })
  await writeFile(init, text, { mode: 0o755 })
  const pinned = ['--cpu-list', String(processorFor(run.turn ?? process.pid)), program]
  const child = spawn('taskset', [...pinned, ...bootArguments(memory, scratch, init)], {
    stdio: stdio(terminal !== undefined),
    env: { PATH: process.env['PATH'], TMPDIR: folder, ...registers },
    detached: true,
  })
  const kernel = new RunningKernel(child, run, scratch)
  const socket =
    run.shell === true ? openShellSocket(join(scratch, SHELL_SOCKET), lineOf(child, 5)) : undefined
  const stopFollowing = terminal?.follow((size) => lineOf(child, 4).write(`${size}\n`))
  const ended = kernel.ended.finally(() => {
    socket?.close()
    stopFollowing?.()
    terminal?.restore()
  })
  ended.catch(() => undefined)
  return { channel: kernel.channel, kill: () => kernel.kill(), ended }
}

/** The project is there inside, wherever it is: /tmp and /run are the kernel's own. */
function ownFolder(): readonly Share[] {
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  return /^\/(tmp|run)\//.test(folder) ? [{ host: folder, inside: folder }] : []
}

function bootArguments(memory: number, scratch: string, init: string): readonly string[] {
  return [
    ...[`mem=${memory}M`, 'rootfstype=hostfs', 'rootflags=/', 'ro', `init=${init}`],
    ...['con=null', 'con0=fd:0,fd:1', 'ssl0=fd:3,fd:3', 'ssl1=fd:4,fd:4', 'ssl2=fd:5,fd:5'],
    ...['quiet', 'loglevel=3', 'noreboot', `uml_dir=${scratch}/`],
  ]
}

/** Console, complaints of the program itself, the channel, the report, the shell. */
function stdio(terminal: boolean): StdioOptions {
  const mouth = terminal ? 'inherit' : 'pipe'
  return [terminal ? 'inherit' : 'ignore', mouth, 'pipe', 'pipe', 'pipe', 'pipe']
}
