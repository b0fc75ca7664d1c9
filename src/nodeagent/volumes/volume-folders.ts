import { chmod, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../lib/files.ts'
import { runCommand } from '../system/run-command.ts'

/** The folders of volumes, which only the user of the node agent may open. */
export interface VolumeFolders {
  /** In memory if the machine permits it: files of Secrets and tokens. */
  readonly memory: string
  readonly disk: string
  /** Removes all volumes. */
  close(): Promise<void>
}

const OPTIONS = 'mode=0700,nosuid,nodev'

/**
 * Makes the folders empty; what an earlier node agent left is removed. Without the right to mount, `memory` is a
 * folder of the disk, and `onError` receives why.
 */
export async function openVolumeFolders(
  folder: string,
  onError: (error: unknown) => void,
): Promise<VolumeFolders> {
  const [memory, disk] = [join(folder, 'memory'), join(folder, 'disk')]
  for (const path of [folder, memory, disk]) {
    makeFolder(path)
    await chmod(path, 0o700)
  }
  const clear = async (): Promise<void> => {
    while (await isMounted(memory)) await runCommand(['umount', '--lazy', '--', memory])
    for (const path of [memory, disk]) await empty(path)
  }
  await clear()
  await mountMemory(memory).catch(onError)
  return { memory, disk, close: clear }
}

/** Mounts a tmpfs, without swap if the kernel supports that (since 6.4). */
async function mountMemory(path: string): Promise<void> {
  const mount = async (options: string): Promise<void> => {
    await runCommand(['mount', '-t', 'tmpfs', '-o', options, '--', 'tmpfs', path])
  }
  await mount(`${OPTIONS},noswap`).catch(() => mount(OPTIONS))
}

async function isMounted(path: string): Promise<boolean> {
  const [own, above] = await Promise.all([stat(path), stat(dirname(path))])
  return own.dev !== above.dev
}

async function empty(path: string): Promise<void> {
  for (const name of await readdir(path)) await rm(join(path, name), { recursive: true })
}
