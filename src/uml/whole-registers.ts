import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { NodeProxyError } from '../lib/error.ts'

const SOURCE = fileURLToPath(new URL('whole-registers.c', import.meta.url))
const TIMEOUT_MS = 10_000

/** Whether a processor has more registers than User-mode Linux 6.1 keeps: those of AMX. */
export function hasWideRegisters(cpuinfo: string): boolean {
  return /^flags\s*:.*\bamx_tile\b/m.test(cpuinfo)
}

/**
 * The environment variables that User-mode Linux needs to start on this processor; none if it starts without. They name
 * a library that is compiled into `scratch`. Throws NP_UML_MISSING without a compiler.
 */
export async function withWholeRegisters(
  scratch: string,
  { compiler = 'tcc', cpuinfo = '/proc/cpuinfo' } = {},
): Promise<Readonly<Record<string, string>>> {
  if (!hasWideRegisters(await readFile(cpuinfo, 'utf8'))) return {}
  const library = join(scratch, 'whole-registers.so')
  const args = ['-shared', '-nostdlib', '-o', library, SOURCE]
  await promisify(execFile)(compiler, args, { timeout: TIMEOUT_MS }).catch((cause: unknown) => {
    throw new NodeProxyError(
      'NP_UML_MISSING',
      `User-mode Linux needs ${compiler} on a processor with AMX, whose registers it does not know`,
      { cause, hint: 'apt-get install tcc' },
    )
  })
  return { LD_PRELOAD: library }
}
