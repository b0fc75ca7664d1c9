import { dirname, join } from 'node:path'
import type { Lab } from '../lab/lab.ts'

/** The program. */
export const LAUNCHER = join(import.meta.dirname, '../../../bin/node-proxy')

/** How a command of node-proxy ended on the lab's node. */
export interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The socket at which the lab's daemon is inspected. */
export function inspectionSocket(lab: Pick<Lab, 'daemon'>): string {
  return join(dirname(lab.daemon.configFile), 'inspect.sock')
}

/** Runs `node-proxy COMMAND` in the node's namespace. The shell reports the exit code, whatever it is. */
export async function nodeCommand(lab: Lab, ...words: readonly string[]): Promise<CommandResult> {
  const script = '"$@" >"$0.out" 2>"$0.err"; echo $?'
  const prefix = `${inspectionSocket(lab)}.command`
  const flags = [`--socket=${inspectionSocket(lab)}`]
  const command = ['sh', '-c', script, prefix, LAUNCHER, ...words, ...flags]
  const code = Number(await lab.node.namespace.exec(command, { timeoutMs: 60_000 }))
  const [stdout, stderr] = await Promise.all(
    ['out', 'err'].map((part) => lab.node.namespace.exec(['cat', `${prefix}.${part}`])),
  )
  return { code, stdout: stdout ?? '', stderr: stderr ?? '' }
}
