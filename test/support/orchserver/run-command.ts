import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const PROGRAM = fileURLToPath(new URL('../../../bin/orch-server', import.meta.url))

/**
 * Runs bin/orch-server to its end, for example `backup FILE --data-dir=D`.
 * @throws Error with its output if the exit code is not 0
 */
export async function runOrchServerCommand(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(PROGRAM, args)
  return stdout
}
