import { dirname, join } from 'node:path'
import type { Lab } from '../lab/lab.ts'
import { launcherOf } from '../programs.ts'
import { type CommandResult, runProgram } from './run-program.ts'

/** The program. */
export const LAUNCHER = launcherOf('node-proxy')

/** The socket at which the lab's daemon is inspected. */
export function inspectionSocket(lab: Pick<Lab, 'daemon'>): string {
  return join(dirname(lab.daemon.configFile), 'inspect.sock')
}

/** Runs `node-proxy COMMAND` in the node's namespace. */
export async function nodeCommand(lab: Lab, ...words: readonly string[]): Promise<CommandResult> {
  const socket = inspectionSocket(lab)
  const place = { site: lab.node, prefix: `${socket}.command` }
  return await runProgram(place, LAUNCHER, ...words, `--socket=${socket}`)
}
