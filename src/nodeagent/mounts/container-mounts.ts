import { mkdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { MountPlan } from '../plan/mount-plan.ts'
import { type MissingPlace, mirrorFolder, type Scratch } from './mirror-folder.ts'
import { hostPath, layOut, type PlacedMount, placeIn, unmountable } from './mount-layout.ts'
import { type MountNamespace, makeMountNamespace } from './mount-namespace.ts'

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
 * Makes the places of mounts that lie in an emptyDir, before any process of the Pod runs: later the Pod
 * could have put links there.
 */
export async function makeInnerPlaces(
  mounts: readonly MountPlan[],
  folderOf: MountTools['folderOf'],
): Promise<void> {
  for (const mount of await layOut(mounts, folderOf)) {
    if (mount.parent === undefined) continue
    const place = placeIn(mount.parent, mount)
    if (!(await isFile(mount))) await mkdir(place, { recursive: true, mode: 0o755 })
    else throw unmountable(mount.plan.path, 'a file cannot lie in another volume')
  }
}

/** Mounts a container's volumes in a mount namespace of its own. The machine's own files stay as they are. */
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

/** The places that the machine does not have, folder by folder, from the root on. */
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

/** Inner mounts before the outer ones, and last the one that hides the volumes of the agent. */
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

/** What of the volume is mounted; the agent alone writes volumes of which a part can be. */
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
