import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { pathFault } from '../plan/volume-plan.ts'

/** A file with its permissions. */
export interface WrittenFile {
  /** Relative, without `..`. */
  readonly path: string
  readonly content: Buffer
  readonly mode: number
  /** Undefined: the user of the node agent. */
  readonly uid: number | undefined
}

/** The name of the link to the current files, as in the kubelet. */
const DATA = '..data'
const NEXT = '..data_tmp'
const FOLDER_MODE = 0o755
/** New files get the group of the folder. */
const GROUP_FOLDER_MODE = 0o2755

/**
 * Replaces all files of a volume in one step: they are written into a new folder, and the link `..data` is
 * renamed onto the old one, so that a reader sees either all old files or all new ones. The links to the
 * individual files lead through `..data`. `gid`: the group of files and folders, which may read them. Throws
 * NP_NODEAGENT_VOLUME for a path that leads out of the volume; nothing is written then.
 */
export async function writeFiles(
  folder: string,
  files: readonly WrittenFile[],
  gid: number | undefined,
): Promise<void> {
  for (const { path } of files) {
    const fault = pathFault(path)
    if (fault !== undefined) throw refused(`the path ${quote(path)} ${fault}`)
  }
  const old = await readlink(join(folder, DATA)).catch(() => undefined)
  const next = await mkdtemp(join(folder, '..files-'))
  try {
    await ownFolder(next, gid)
    for (const file of files) await writeOne(next, file, gid)
    await rm(join(folder, NEXT), { force: true })
    await symlink(next.slice(folder.length + 1), join(folder, NEXT))
    await rename(join(folder, NEXT), join(folder, DATA))
  } catch (error) {
    await rm(next, { recursive: true, force: true })
    throw error
  }
  await linkFiles(folder, new Set(files.map(({ path }) => path.split('/')[0] ?? path)))
  if (old !== undefined) await rm(join(folder, old), { recursive: true, force: true })
}

async function writeOne(
  folder: string,
  { path, content, mode, uid }: WrittenFile,
  gid: number | undefined,
): Promise<void> {
  const file = join(folder, path)
  await makeFolders(folder, dirname(path), gid)
  await rm(file, { force: true })
  await writeFile(file, content, { mode: 0o600, flag: 'wx' })
  if (uid !== undefined || gid !== undefined) await chown(file, uid ?? UNCHANGED, gid ?? UNCHANGED)
  await chmod(file, gid === undefined ? mode : mode | 0o440)
}

async function makeFolders(folder: string, path: string, gid: number | undefined): Promise<void> {
  let made = folder
  for (const part of path.split('/').filter((one) => one !== '.')) {
    made = join(made, part)
    if (await isThere(made)) continue
    await mkdir(made)
    await ownFolder(made, gid)
  }
}

async function ownFolder(path: string, gid: number | undefined): Promise<void> {
  if (gid !== undefined) await chown(path, UNCHANGED, gid)
  await chmod(path, gid === undefined ? FOLDER_MODE : GROUP_FOLDER_MODE)
}

/** Creates links to the content of `..data`, and removes earlier links that now lead nowhere. */
async function linkFiles(folder: string, names: ReadonlySet<string>): Promise<void> {
  const present = (await readdir(folder)).filter((name) => !name.startsWith('..'))
  for (const name of names) {
    if (!present.includes(name)) await symlink(join(DATA, name), join(folder, name))
  }
  for (const name of present) {
    if (!names.has(name)) await unlink(join(folder, name))
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

const UNCHANGED = -1

function refused(message: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_VOLUME', message)
}
