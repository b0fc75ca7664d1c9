import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findInstallation } from '../../uml/installation.ts'
import { bootKernel } from '../../uml/start-kernel.ts'
import type { SandboxOptions } from './arguments.ts'
import { CHANGE_MS } from './run.ts'

const IP_VS = '/proc/net/ip_vs'
/** The environment variable with the command that opens a shell in the kernel in which the sandbox runs. */
export const WAY_IN = 'SANDBOX_WAY_IN'
/** In MiB; the whole sandbox needs a quarter of it. */
const MEMORY = 1024
/** Milliseconds; only for the tour, which prints a line after each change. A screen may be silent for days. */
const TOUR_SILENCE_MS = 2 * CHANGE_MS

/** Whether the mode needs modules that this machine's kernel has neither loaded nor available. */
export function needsOtherKernel({ mode }: SandboxOptions): boolean {
  if (mode !== 'ipvs' || existsSync(IP_VS)) return false
  spawnSync('modprobe', ['-q', 'ip_vs'])
  return !existsSync(IP_VS)
}

/**
 * Runs this program with the same arguments in a kernel that has ip_vs, and prints that it does. Returns its exit code.
 * Throws the errors of User-mode Linux, such as NP_UML_MISSING.
 */
export async function runInOtherKernel({ once }: SandboxOptions): Promise<number> {
  const { release } = await findInstallation()
  const { argv, execArgv, stdin, stdout } = process
  stdout.write(
    `this kernel has no ip_vs: everything runs in User-mode Linux ${release}, a kernel that is a program; it starts in one to three minutes\n`,
  )
  const terminal = stdin.isTTY && stdout.isTTY
  const { status } = await bootKernel({
    command: process.execPath,
    args: [...execArgv, ...argv.slice(1)],
    env: {
      ...process.env,
      TMPDIR: undefined,
      [WAY_IN]: `npm run --silent uml -- --enter=${process.pid}`,
    },
    cwd: process.cwd(),
    memory: MEMORY,
    terminal,
    shell: true,
    onOutput: (text) => void stdout.write(text),
    ...(once && !terminal && { silenceMs: TOUR_SILENCE_MS }),
  })
  return status
}
