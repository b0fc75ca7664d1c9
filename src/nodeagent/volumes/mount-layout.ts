import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import type { MountPlan } from '../plan/container-plan.ts'

/** A volume and where a container sees it. Paths are absolute and contain no links. */
export interface PlacedMount {
  readonly plan: MountPlan
  /** The folder of the volume. */
  readonly source: string
  readonly target: string
  /** The deepest folder of the machine on the way to the target. */
  readonly base: string
  /** The rest of the path, which does not exist on the machine; empty: `base` is the target. */
  readonly rest: string
  /** The mount that the target lies in; undefined: none. */
  readonly parent: PlacedMount | undefined
}

/**
 * The mount points of a container on the machine, whose files it shares, after links in their paths are
 * followed (`/var/run` is usually a link). A mount inside another one is possible only in an emptyDir. Throws
 * NP_NODEAGENT_MOUNT otherwise.
 */
export async function layOut(
  mounts: readonly MountPlan[],
  folderOf: (mount: MountPlan) => string,
): Promise<readonly PlacedMount[]> {
  const found = await Promise.all(
    mounts.map(async (plan) => {
      const { base, rest } = await locate(plan.path)
      return { plan, source: folderOf(plan), base, rest, target: join(base, rest) }
    }),
  )
  const placed: PlacedMount[] = []
  for (const one of found.sort((a, b) => a.target.length - b.target.length)) {
    if (placed.some(({ target }) => target === one.target)) {
      throw unmountable(one.plan.path, 'another volume is mounted there')
    }
    const parent = placed.findLast(({ target }) => one.target.startsWith(`${target}/`))
    if (parent !== undefined && parent.plan.volume.kind !== 'empty') {
      throw unmountable(one.plan.path, `it lies in the volume at ${quote(parent.plan.path)}`)
    }
    placed.push({ ...one, parent })
  }
  return placed
}

/** The path, in the volume of the parent, of the mount point of a mount inside it. */
export function placeIn(parent: PlacedMount, mount: PlacedMount): string {
  return join(parent.source, relative(parent.target, mount.target))
}

/** The path on the machine by which the agent reaches a path of the container. */
export function hostPath(path: string, mounts: readonly PlacedMount[]): string {
  for (const { plan, source, target } of mounts.toReversed()) {
    for (const point of [plan.path, target]) {
      if (path === point || path.startsWith(`${point}/`)) {
        return join(source, plan.subPath, relative(point, path))
      }
    }
  }
  return path
}

export function unmountable(path: string, why: string): NodeProxyError {
  return new NodeProxyError(
    'NP_NODEAGENT_MOUNT',
    `nothing can be mounted at ${quote(path)}: ${why}`,
    {
      object: path,
    },
  )
}

async function locate(path: string): Promise<Pick<PlacedMount, 'base' | 'rest'>> {
  let rest = ''
  for (let above = path; ; above = dirname(above)) {
    const base = await realpath(above).catch(absent)
    if (base !== undefined) return { base, rest }
    if (await isLink(above)) throw unmountable(path, `${quote(above)} is a link to nothing`)
    rest = join(basename(above), rest)
  }
}

/**
 * Throws any error other than that the file does not exist: it would not be safe to continue with the parent
 * folder.
 */
function absent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
  throw error
}

function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  )
}
