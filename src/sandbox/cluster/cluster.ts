import type { Namespace } from '../network/namespace.ts'
import { PODS } from '../network/plan.ts'
import type { Run } from '../run/run.ts'
import { ClusterState } from './cluster-state.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { readExamples } from './examples.ts'
import { Pods } from './pods.ts'
import { SYSTEM_OBJECTS } from './system-objects.ts'
import { Writer } from './writer.ts'

/** A small cluster: orch-server with its controllers and node agent, its objects, three pods. */
export interface Cluster {
  readonly controlPlane: ControlPlane
  readonly state: ClusterState
  readonly pods: Pods
}

/** Starts it on the node and fills it; `stack` ends it again. */
export async function openCluster(
  run: Run,
  node: Namespace,
  stack: AsyncDisposableStack,
): Promise<Cluster> {
  const controlPlane = await startControlPlane(run, node, stack)
  const state = new ClusterState(controlPlane)
  const stop = new AbortController()
  const following = state.run(stop.signal)
  stack.defer(async () => {
    stop.abort()
    await following
  })
  const writer = new Writer(controlPlane.api, state)
  const pods = new Pods(state, writer)
  for (const object of SYSTEM_OBJECTS) await writer.create(object)
  await Promise.all(PODS.map((name) => pods.start(name)))
  for (const object of await readExamples()) await writer.create(object)
  return { controlPlane, state, pods }
}
