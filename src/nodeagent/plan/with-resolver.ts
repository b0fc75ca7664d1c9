import type { JsonObject } from '../../lib/json.ts'
import {
  type ClusterResolver,
  hasOwnResolver,
  readPodDns,
} from '../../resources/resolver/pod-dns.ts'
import type { MountPlan } from './mount-plan.ts'
import type { PodPlan } from './pod-plan.ts'
import type { FilesVolume } from './volume-plan.ts'

const PATH = '/etc/resolv.conf'
const FILE = 'resolv.conf'
const MODE = 0o644
/** No volume of a Pod has such a name. */
const VOLUME = '_resolver'

/**
 * The plan with a volume that holds the Pod's resolv.conf, mounted in each container that mounts nothing there by
 * itself; the plan as it is where the file of the node serves.
 */
export function withResolver(
  plan: PodPlan,
  object: JsonObject,
  resolver: ClusterResolver | undefined,
): PodPlan {
  if (resolver === undefined) return plan
  const dns = readPodDns(object)
  if (!hasOwnResolver(dns, resolver)) return plan
  const volume: FilesVolume = {
    ...{ kind: 'files', name: VOLUME, defaultMode: MODE },
    sources: [{ kind: 'resolver', path: FILE, dns, resolver }],
  }
  const mount: MountPlan = { volume, path: PATH, isReadOnly: true, subPath: FILE }
  return {
    ...plan,
    volumes: [...plan.volumes, volume],
    containers: plan.containers.map((container) =>
      container.mounts.some(coversFile)
        ? container
        : { ...container, mounts: [...container.mounts, mount] },
    ),
  }
}

function coversFile({ path }: MountPlan): boolean {
  return path === '/' || path === PATH || PATH.startsWith(`${path}/`)
}
