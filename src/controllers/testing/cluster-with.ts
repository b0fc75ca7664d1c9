import type { JsonObject } from '../../lib/json.ts'
import type { CollectionName } from '../cache/collection-route.ts'
import { createFakeCluster, type FakeCluster } from './fake-cluster.ts'

/** An object and the collection that holds it. */
export type Stored = readonly [CollectionName, JsonObject]

/** A fake API server that holds these objects. */
export function clusterWith(...objects: readonly Stored[]): FakeCluster {
  const cluster = createFakeCluster()
  for (const [collection, object] of objects) cluster.put(collection, object)
  return cluster
}

/** Objects of one collection, for `clusterWith`. */
export function all(collection: CollectionName, objects: readonly JsonObject[]): readonly Stored[] {
  return objects.map((object) => [collection, object])
}
