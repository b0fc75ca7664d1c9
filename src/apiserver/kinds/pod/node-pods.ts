import type { NodePods } from '../../../auth/node/node-permits.ts'
import type { CacheReader } from '../../cache/feed.ts'
import { objectReader } from '../../cache/object-reader.ts'
import { pods } from './resource.ts'

/** The Pods that the permissions of node agents follow from, as the caches show them. */
export function storedNodePods(caches: CacheReader): NodePods {
  const objects = objectReader(caches)
  return {
    pod: (namespace, name) => objects.get(pods, namespace, name),
    podsIn: (namespace) => objects.list(pods, namespace),
  }
}
