import { readFile } from 'node:fs/promises'
import type { Lab } from '../lab/lab.ts'

/** How a program ended. */
export interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Where a program runs. */
export interface RunPlace {
  readonly site: Pick<Lab['node'], 'namespace'>
  /** The prefix of the files to which its output goes. */
  readonly prefix: string
  readonly timeoutMs?: number
  readonly home?: string
}

/** Runs a program on a machine of a lab, whatever its exit code. */
export async function runProgram(
  { site, prefix, timeoutMs = 150_000, home }: RunPlace,
  ...words: readonly string[]
): Promise<CommandResult> {
  const script = '"$@" >"$0.out" 2>"$0.err"; echo $?'
  const environment = home === undefined ? [] : ['env', `HOME=${home}`]
  const command = ['sh', '-c', script, prefix, ...environment, ...words]
  const code = Number(await site.namespace.exec(command, { timeoutMs }))
  const [stdout = '', stderr = ''] = await Promise.all(
    ['out', 'err'].map((part) => readFile(`${prefix}.${part}`, 'utf8')),
  )
  return { code, stdout, stderr }
}
