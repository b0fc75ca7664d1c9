import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readFile, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeProxyError } from '../lib/error.ts'

const MIB = 1024 * 1024
const SCRATCH_PREFIX = 'np-uml-'
/** The name of the shell socket in the scratch folder of a kernel with a shell. */
export const SHELL_SOCKET = 'shell'

/** Makes the folder of one kernel on this machine, for its script, its status and its own files. */
export function makeScratch(): Promise<string> {
  return mkdtemp(join(tmpdir(), `${SCRATCH_PREFIX}${process.pid}-`))
}

/**
 * A folder for the file that is the kernel's memory: with enough space, not mounted `noexec`, and if possible in memory
 * and not on a disk. The kernel unlinks the file as soon as it is open. Containers often have a /dev/shm that is small
 * or `noexec`.
 */
export async function findMemoryFolder(mebibytes: number): Promise<string> {
  const table = await readFile('/proc/self/mounts', 'utf8')
  const candidates = ['/dev/shm', tmpdir(), '/var/tmp']
  for (const folder of candidates) {
    if (!isNoExec(folder, table) && (await freeMebibytes(folder)) >= mebibytes) return folder
  }
  throw new NodeProxyError(
    'NP_UML_MEMORY',
    `no space for the ${mebibytes} MiB of a kernel in ${candidates.join(', ')}`,
    { hint: 'set TMPDIR to a folder with enough space, on a file system not mounted noexec' },
  )
}

/** The shell sockets of the running kernels: of all, or of those that one process started. */
export function findShellSockets(booter?: number): readonly string[] {
  const prefix = booter === undefined ? SCRATCH_PREFIX : `${SCRATCH_PREFIX}${booter}-`
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(tmpdir(), name, SHELL_SOCKET))
    .filter((path) => existsSync(path))
}

/** Whether the file system that holds `folder` was mounted noexec, by the text of /proc/mounts. */
export function isNoExec(folder: string, table: string): boolean {
  const holding = table
    .split('\n')
    .map((line) => line.split(' '))
    .filter(
      ([, place = '']) =>
        place !== '' && `${folder}/`.startsWith(place === '/' ? '/' : `${place}/`),
    )
    .reduce<readonly string[]>(
      (best, each) => ((each[1] ?? '').length >= (best[1] ?? '').length ? each : best),
      [],
    )
  return (holding[3] ?? '').split(',').includes('noexec')
}

async function freeMebibytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return (bavail * bsize) / MIB
  } catch {
    return 0
  }
}
