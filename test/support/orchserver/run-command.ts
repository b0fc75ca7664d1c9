import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { launcherOf } from '../programs.ts'

const PROGRAM = launcherOf('orch-server')

/**
 * Runs bin/orch-server to its end, for example `backup FILE --data-dir=D`.
 * @throws Error with its output if the exit code is not 0
 */
export async function runOrchServerCommand(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(PROGRAM, args)
  return stdout
}
