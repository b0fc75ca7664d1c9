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
import { NodeProxyError } from '../../lib/error.ts'
import type { MountPlan } from '../plan/container-plan.ts'
import { runCommand } from '../system/run-command.ts'
import { hostPath, layOut, type PlacedMount, placeIn, unmountable } from './mount-layout.ts'

const PROGRAMS = process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin'

const MOUNT_MEMORY = ['mount', '-t', 'tmpfs', '-o', 'mode=0755,nosuid,nodev', '--make-unbindable']

/** The files that one container sees. */
export interface ContainerMounts {
  /** The file of its mount namespace. */
  readonly path: string
  /** The path on the machine of a path of the container. */
  locate(path: string): string
  close(): Promise<void>
}

/** How mounts are made. */
export interface MountTools {
  /** The folder of a volume on the machine. */
  readonly folderOf: (mount: MountPlan) => string
  /** A folder of the Pod, with no link in its path. */
  readonly scratch: string
}

/**
 * Creates the mount points that are inside an emptyDir before any process of the Pod runs, because later the
 * Pod could have put links there.
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

/** Mounts a container's volumes in its own mount namespace. The files of the machine are not changed. */
export async function mountForContainer(
  mounts: readonly MountPlan[],
  { folderOf, scratch }: MountTools,
): Promise<ContainerMounts> {
  const placed = await layOut(mounts, folderOf)
  const namespace = await makeMountNamespace()
  try {
    await makePlaces(namespace, placed, scratch)
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

/** Creates mount points that the machine does not have, folder by folder, starting at the root. */
async function makePlaces(
  namespace: MountNamespace,
  placed: readonly PlacedMount[],
  scratch: string,
): Promise<void> {
  const missing = new Map<string, MissingPlace[]>()
  for (const mount of placed) {
    if (mount.parent !== undefined || mount.rest === '') continue
    const places = missing.get(mount.base) ?? []
    missing.set(mount.base, [...places, { path: mount.rest, isFile: await isFile(mount) }])
  }
  const work: Scratch = { staging: join(scratch, 'staging'), table: join(scratch, 'mounts') }
  if (missing.size > 0) await mkdir(work.staging, { recursive: true, mode: 0o700 })
  for (const folder of [...missing.keys()].sort((a, b) => a.length - b.length)) {
    await mirrorFolder(namespace, folder, missing.get(folder) ?? [], work)
  }
}

/** The order of mounting: inner mounts before outer ones, and last the one that hides the volumes of the agent. */
function inOrder(placed: readonly PlacedMount[], scratch: string): readonly PlacedMount[] {
  const inwards = placed.toReversed()
  const hides = ({ parent, target }: PlacedMount): boolean =>
    parent === undefined && scratch.startsWith(`${target}/`)
  return [...inwards.filter((mount) => !hides(mount)), ...inwards.filter(hides)]
}

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

/** The part of the volume that is mounted; only volumes that the agent writes can be mounted in part. */
async function sourceOf({ plan, source }: PlacedMount): Promise<string> {
  const [volume, part] = await Promise.all([
    realpath(source),
    realpath(join(source, plan.subPath)).catch(() => undefined),
  ])
  if (part === undefined) throw unmountable(plan.path, `the volume has no ${plan.subPath}`)
  if (part === volume || part.startsWith(`${volume}/`)) return part
  throw unmountable(plan.path, 'subPath leads out of the volume')
}

async function isFile(mount: PlacedMount): Promise<boolean> {
  return mount.plan.subPath !== '' && (await stat(await sourceOf(mount))).isFile()
}

/** A mount point that does not exist in a folder of the machine. */
interface MissingPlace {
  /** Relative to the folder. */
  readonly path: string
  readonly isFile: boolean
}

/**
 * Adds mount points to a folder of the machine, in one mount namespace only. The folder is replaced by one in
 * memory, into which each entry of the original is bind-mounted. Files that the machine creates later in the
 * folder itself do not appear, those in its subfolders do. `scratch`: a folder of this agent, with no link in
 * its path.
 */
async function mirrorFolder(
  namespace: MountNamespace,
  folder: string,
  places: readonly MissingPlace[],
  scratch: Scratch,
): Promise<void> {
  const { staging, table } = scratch
  const entries = await readdir(folder, { withFileTypes: true })
  const own = new Set(entries.map(({ name }) => name))
  const taken = places.find(({ path }) => own.has(path.split('/')[0] ?? path))
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
  const files = places.filter(({ isFile }) => isFile).map(({ path }) => at(path))
  const folders = places.filter(({ isFile }) => !isFile).map(({ path }) => at(path))
  await run(['mkdir', '-p'], [...folders, ...files.map((path) => dirname(path))])
  await run(['touch'], files)
  await namespace.run(['mount', '--move', '--', staging, folder])
}

/** The files for preparing a mirror: an empty folder, and a file for the list of its mounts. */
interface Scratch {
  readonly staging: string
  readonly table: string
}

/** A row in the format of `fstab`. */
function mountRow(from: string, to: string): string {
  return `${escaped(from)} ${escaped(to)} none rbind 0 0\n`
}

function escaped(path: string): string {
  return path.replace(/[\s\\#"]/gu, (character) => {
    return Buffer.from(character)
      .toString('latin1')
      .replace(/./gsu, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)
  })
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

/**
 * Makes a mount namespace without a process: an open file of this process keeps it alive. New mounts of the
 * machine propagate into it, but its own mounts do not propagate out. Throws NP_NODEAGENT_MOUNT when it cannot
 * be made.
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

/** `cat` echoes its input as soon as its namespace exists, and ends with its input. */
async function openNamespace(): Promise<FileHandle> {
  const words = ['--mount', '--propagation', 'slave', '--', 'cat']
  const holder = spawn('unshare', words, { stdio: 'pipe', detached: true, env: { PATH: PROGRAMS } })
  const ended = once(holder, 'close').catch(() => undefined)
  const errors: Buffer[] = []
  holder.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  holder.stdin.on('error', () => undefined)
  try {
    holder.stdin.write('\n')
    const isReady = await Promise.race([once(holder.stdout, 'data'), ended.then(() => undefined)])
    if (isReady === undefined) throw unmade(Buffer.concat(errors).toString().trim())
    return await openOwn(`/proc/${holder.pid}/ns/mnt`)
  } finally {
    holder.stdin.end()
    await ended
  }
}

/**
 * Opens the namespace, and checks that it is not that of this process: mounts in that one would be visible to
 * the whole machine.
 */
async function openOwn(path: string): Promise<FileHandle> {
  const file = await open(path)
  const [made, own] = [await file.stat(), await stat('/proc/self/ns/mnt')]
  if (made.ino !== own.ino) return file
  await file.close()
  throw unmade('it is that of the node agent')
}

function unmade(why: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_MOUNT', `no mount namespace could be made: ${why}`, {
    hint: 'is this root with CAP_SYS_ADMIN?',
  })
}
