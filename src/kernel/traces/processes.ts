import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { FoundProcess } from './traces.ts'

/**
 * Processes of this network namespace by the names that the kernel keeps (15 characters). One whose
 * namespace this process may not read counts. In a container without the host's processes there are
 * only its own.
 */
export async function processesNamed(
  names: readonly string[],
  proc = '/proc',
): Promise<readonly FoundProcess[]> {
  const ours = await namespaceOf(join(proc, 'self'))
  const found: FoundProcess[] = []
  for (const pid of await pids(proc)) {
    const folder = join(proc, pid)
    const name = (await readFile(join(folder, 'comm'), 'latin1').catch(() => '')).trimEnd()
    if (!names.includes(name)) continue
    const theirs = await namespaceOf(folder)
    if (theirs === undefined || theirs === ours) found.push({ name, pid: Number(pid) })
  }
  return found
}

async function pids(proc: string): Promise<readonly string[]> {
  const entries = await readdir(proc).catch(() => [])
  return entries.filter((entry) => /^\d+$/.test(entry))
}

function namespaceOf(folder: string): Promise<string | undefined> {
  return readlink(join(folder, 'ns/net')).catch(() => undefined)
}
