import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  stat,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf, NodeProxyError } from '../../lib/error.ts'
import type { MountPlan } from '../plan/container-plan.ts'
import { runCommand } from '../system/run-command.ts'
import { hostPath, layOut, type PlacedMount, placeIn, unmountable } from './mount-layout.ts'

/** The files that one container sees. */
export interface ContainerMounts {
  /** The file of its mount namespace, which `nsenter` opens: `/proc/PID/fd/NUMBER`. */
  readonly path: string
  /** Translates a path of the container to the path by which the agent reaches the same file on the machine. */
  locate(path: string): string
  /** Releases the mount namespace; it ends with the last process in it. */
  close(): Promise<void>
}

/** The folders that mounting uses. */
export interface MountTools {
  /** The folder of a volume on the machine. */
  readonly folderOf: (mount: MountPlan) => string
  /** A folder of the agent for this Pod, for temporary files. Its path contains no links. */
  readonly scratch: string
}

/**
 * Creates the mount points that are inside an emptyDir. To be called before any process of the Pod runs, because a
 * process of the Pod could put links there.
 * @throws NP_NODEAGENT_MOUNT when a mount point is impossible
 */
export async function makeInnerPlaces(
  mounts: readonly MountPlan[],
  folderOf: MountTools['folderOf'],
): Promise<void> {
  for (const mount of await layOut(mounts, folderOf)) {
    if (mount.parent === undefined) continue
    const place = placeIn(mount.parent, mount)
    if (!(await isFile(mount))) await mkdir(place, { recursive: true, mode: 0o755 })
    else throw unmountable(mount.plan.path, 'a file cannot be mounted inside another volume')
  }
}

/**
 * Mounts a container's volumes in its own mount namespace. The files of the machine are not changed.
 * @throws NP_NODEAGENT_MOUNT when a volume cannot be mounted, NP_NODEAGENT_COMMAND when a program such as mount fails
 */
export async function mountForContainer(
  mounts: readonly MountPlan[],
  { folderOf, scratch }: MountTools,
): Promise<ContainerMounts> {
  const placed = await layOut(mounts, folderOf)
  const namespace = await makeMountNamespace()
  try {
    await makeMountPoints(namespace, placed, scratch)
    for (const mount of inOrder(placed, scratch)) await bind(namespace, mount)
  } catch (error) {
    await namespace.close()
    throw error
  }
  return {
    path: namespace.path,
    locate: (path) => hostPath(path, placed),
    close: () => namespace.close(),
  }
}

/** A mount namespace: a copy of the machine's mounts, to which mounts can be added that other processes do not see. */
interface MountNamespace {
  /** The file with which `nsenter` enters it. */
  readonly path: string
  /** Runs a program in it. @throws NP_NODEAGENT_COMMAND when it does not exit 0 */
  run(command: readonly string[]): Promise<void>
  /** Releases the namespace; it ends with the last process in it. */
  close(): Promise<void>
}

/** A mount point that does not exist in a folder of the machine. */
interface MissingMountPoint {
  /** Relative to the folder. */
  readonly path: string
  /** Whether a file is mounted there; otherwise a folder is. */
  readonly isFile: boolean
}

/** The paths for preparing a mirror of a folder (`mirrorFolder`). */
interface Scratch {
  /** An empty folder, in which the mirror is built. */
  readonly staging: string
  /** A file for the list of its mounts, in the format of fstab(5). */
  readonly table: string
}

/**
 * Creates the mount points that the machine does not have, in this mount namespace only. Each folder that misses some
 * is replaced by a mirror; a folder comes before its subfolders.
 */
async function makeMountPoints(
  namespace: MountNamespace,
  placed: readonly PlacedMount[],
  scratch: string,
): Promise<void> {
  const missing = new Map<string, MissingMountPoint[]>()
  for (const mount of placed) {
    if (mount.parent !== undefined || mount.rest === '') continue
    const points = missing.get(mount.base) ?? []
    missing.set(mount.base, [...points, { path: mount.rest, isFile: await isFile(mount) }])
  }
  const work: Scratch = { staging: join(scratch, 'staging'), table: join(scratch, 'mounts') }
  if (missing.size > 0) await mkdir(work.staging, { recursive: true, mode: 0o700 })
  for (const folder of [...missing.keys()].sort((a, b) => a.length - b.length)) {
    await mirrorFolder(namespace, folder, missing.get(folder) ?? [], work)
  }
}

/**
 * The order of mounting. Inner mounts come before outer ones: an inner mount is made in the folder of the outer volume,
 * and the recursive bind mount of that folder includes it. Mounts over a folder that contains `scratch` come last,
 * because they hide the volumes.
 */
function inOrder(placed: readonly PlacedMount[], scratch: string): readonly PlacedMount[] {
  const innerFirst = placed.toReversed()
  const hides = ({ parent, target }: PlacedMount): boolean =>
    parent === undefined && scratch.startsWith(`${target}/`)
  return [...innerFirst.filter((mount) => !hides(mount)), ...innerFirst.filter(hides)]
}

/** Bind-mounts one volume, or a part of it, at its mount point. */
async function bind(namespace: MountNamespace, mount: PlacedMount): Promise<void> {
  const { plan, parent, target } = mount
  const place = parent === undefined ? target : placeIn(parent, mount)
  if (parent !== undefined && (await realpath(place)) !== place) {
    throw unmountable(plan.path, 'the Pod has put a link there')
  }
  const options = [
    ...(plan.isReadOnly ? ['ro'] : []),
    ...(plan.volume.kind === 'files' ? ['nosuid', 'nodev'] : []),
  ]
  const flags = options.length === 0 ? [] : ['-o', options.join(',')]
  await namespace.run(['mount', '--rbind', ...flags, '--', await sourceOf(mount), place])
}

/**
 * The path that is mounted: the volume, or the part of it that `subPath` names. Only volumes whose files the agent
 * writes can have a subPath.
 */
async function sourceOf({ plan, source }: PlacedMount): Promise<string> {
  const [volume, part] = await Promise.all([
    realpath(source),
    realpath(join(source, plan.subPath)).catch(() => undefined),
  ])
  if (part === undefined) throw unmountable(plan.path, `the volume has no ${plan.subPath}`)
  if (part === volume || part.startsWith(`${volume}/`)) return part
  throw unmountable(plan.path, 'subPath leads out of the volume')
}

/** Whether a file is mounted, which only a subPath can name. */
async function isFile(mount: PlacedMount): Promise<boolean> {
  return mount.plan.subPath !== '' && (await stat(await sourceOf(mount))).isFile()
}

/** Unbindable, so that the recursive bind mount of a folder that contains the mirror does not include it. */
const MOUNT_MEMORY = ['mount', '-t', 'tmpfs', '-o', 'mode=0755,nosuid,nodev', '--make-unbindable']

/**
 * Adds mount points to a folder of the machine, in one mount namespace only. The folder is replaced by a mirror: a
 * folder in memory (tmpfs), into which each entry of the original is bind-mounted. Links are created anew. Files that
 * the machine creates later in the folder itself do not appear in the mirror; those in its subfolders do. The paths of
 * `scratch` belong to this agent and contain no links.
 * @throws NP_NODEAGENT_MOUNT when a mount point was created meanwhile
 */
async function mirrorFolder(
  namespace: MountNamespace,
  folder: string,
  points: readonly MissingMountPoint[],
  scratch: Scratch,
): Promise<void> {
  const { staging, table } = scratch
  const entries = await readdir(folder, { withFileTypes: true })
  const own = new Set(entries.map(({ name }) => name))
  const taken = points.find(({ path }) => own.has(path.split('/')[0] ?? path))
  if (taken !== undefined) throw unmountable(join(folder, taken.path), 'it was created meanwhile')
  const links = entries.filter((entry) => entry.isSymbolicLink())
  const others = entries.filter((entry) => !entry.isSymbolicLink())
  const at = (name: string): string => join(staging, name)
  const named = (isFolder: boolean) =>
    others.filter((entry) => entry.isDirectory() === isFolder).map(({ name }) => at(name))
  const run = async (command: readonly string[], paths: readonly string[]): Promise<void> => {
    if (paths.length > 0) await namespace.run([...command, '--', ...paths])
  }
  await namespace.run([...MOUNT_MEMORY, '--', 'tmpfs', staging])
  await run(['mkdir'], named(true))
  await run(['touch'], named(false))
  for (const { name } of links) {
    await run(['ln', '-s'], [await readlink(join(folder, name)), at(name)])
  }
  const rows = others.map(({ name }) => mountRow(join(folder, name), at(name)))
  await writeFile(table, rows.join(''), { mode: 0o600 })
  await namespace.run(['mount', '--all', '--fstab', table])
  const files = points.filter(({ isFile }) => isFile).map(({ path }) => at(path))
  const folders = points.filter(({ isFile }) => !isFile).map(({ path }) => at(path))
  await run(['mkdir', '-p'], [...folders, ...files.map((path) => dirname(path))])
  await run(['touch'], files)
  await namespace.run(['mount', '--move', '--', staging, folder])
}

/** A row in the format of fstab(5). */
function mountRow(from: string, to: string): string {
  return `${escaped(from)} ${escaped(to)} none rbind 0 0\n`
}

/** A path in which each byte of a special character is an octal escape, as in fstab(5). */
function escaped(path: string): string {
  return path.replace(/[\s\\#"]/gu, (character) => {
    return Buffer.from(character)
      .toString('latin1')
      .replace(/./gsu, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)
  })
}

/**
 * Makes a mount namespace without a process: an open file of this process keeps it alive. New mounts of the
 * machine propagate into it, but its own mounts do not propagate out.
 * @throws NP_NODEAGENT_MOUNT when it cannot be made
 */
async function makeMountNamespace(): Promise<MountNamespace> {
  const file = await openNamespace()
  const path = `/proc/${process.pid}/fd/${file.fd}`
  return {
    path,
    run: async (command) => {
      await runCommand(['nsenter', `--mount=${path}`, '--', ...command])
    },
    close: () => file.close(),
  }
}

/** The folders in which `unshare` and `cat` are searched. */
const PROGRAMS = process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Opens a new mount namespace. `unshare` creates it and runs `cat` in it. The first output of
 * `cat`, which echoes its input, shows that the namespace exists. `cat` ends when its input ends.
 */
async function openNamespace(): Promise<FileHandle> {
  const words = ['--mount', '--propagation', 'slave', '--', 'cat']
  const holder = spawn('unshare', words, { stdio: 'pipe', detached: true, env: { PATH: PROGRAMS } })
  const errors: Buffer[] = []
  const ended = once(holder, 'close').catch((error: unknown) => {
    errors.push(Buffer.from(messageOf(error)))
  })
  const failure = (): NodeProxyError => namespaceError(Buffer.concat(errors).toString().trim())
  if (holder.pid === undefined) {
    await ended
    throw failure()
  }
  holder.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  holder.stdin.on('error', () => undefined)
  try {
    holder.stdin.write('\n')
    const isReady = await Promise.race([once(holder.stdout, 'data'), ended.then(() => undefined)])
    if (isReady === undefined) throw failure()
    return await openNew(`/proc/${holder.pid}/ns/mnt`)
  } finally {
    holder.stdin.end()
    await ended
  }
}

/**
 * Opens the file of a new namespace, and checks that it is not the namespace of this process, whose mounts are visible
 * to the whole machine.
 */
async function openNew(path: string): Promise<FileHandle> {
  const file = await open(path)
  const [made, own] = [await file.stat(), await stat('/proc/self/ns/mnt')]
  if (made.ino !== own.ino) return file
  await file.close()
  throw namespaceError('it is that of the node agent')
}

function namespaceError(why: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_MOUNT', `no mount namespace could be made: ${why}`, {
    hint: 'is this root with CAP_SYS_ADMIN?',
  })
}
