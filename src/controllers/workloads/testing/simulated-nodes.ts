import { timestamp } from '../../../lib/duration.ts'
import { type Json, type JsonObject, mergePatch, objectAt, stringAt } from '../../../lib/json.ts'
import { readMeta } from '../../objects/object-meta.ts'
import { readPod } from '../../objects/pod-object.ts'
import type { Controller } from '../../runner/controller.ts'
import type { FakeCluster } from '../../testing/fake-cluster.ts'
import { readyCondition } from '../../testing/fixtures.ts'
import { reconcile } from '../../testing/reconcile.ts'

/** What a node, its scheduler or a user may do to a Pod. */
export type PodEvent = 'bind' | 'ready' | 'unready' | 'fail' | 'succeed' | 'delete' | 'end'

/** A scheduler and nodes, which do to Pods what a test says. */
export interface SimulatedNodes {
  /** The Pods, ordered by their names. */
  pods(): readonly JsonObject[]
  /** Does this to a Pod, if that is possible in its present state. */
  act(pod: JsonObject, event: PodEvent, now: number): void
  /** Binds all Pods, makes them ready, and removes those that are being deleted. */
  serve(now: number): void
}

/** Over the Pods of a fake cluster. Pods without a wanted node are bound to `fallback`. */
export function simulateNodes(cluster: FakeCluster, fallback = ''): SimulatedNodes {
  const pods = (): readonly JsonObject[] =>
    cluster.all('pods').toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const change = (pod: JsonObject, parts: JsonObject): void => {
    cluster.put('pods', mergePatch(pod, parts) as JsonObject)
  }

  /** Ends a Pod that is being deleted: it is gone once it has no finalizers. */
  function end(pod: JsonObject, now: number): void {
    const { key, finalizers } = readMeta(pod)
    if (finalizers.length === 0) cluster.remove('pods', key)
    else {
      const deletionTimestamp = timestamp(now)
      change(pod, { metadata: { deletionTimestamp, deletionGracePeriodSeconds: 0 } })
    }
  }

  function act(pod: JsonObject, event: PodEvent, now: number): void {
    const { nodeName, wantedNode, finished, meta } = readPod(pod)
    const isRunning = nodeName !== '' && !finished
    const status = (phase: string, ready: boolean): Json => ({
      phase,
      conditions: [readyCondition(ready, timestamp(now))],
    })
    if (event === 'bind') {
      const node = wantedNode || fallback
      const isThere = node === fallback || cluster.get('nodes', node) !== undefined
      if (nodeName === '' && isThere && !meta.terminating) {
        change(pod, {
          metadata: { creationTimestamp: meta.createdAt || timestamp(now) },
          spec: { nodeName: node },
          status: status('Pending', false),
        })
      }
    }
    if (event === 'ready' && isRunning && !readPod(pod).ready) {
      change(pod, { status: status('Running', true) })
    }
    if (event === 'unready' && isRunning) change(pod, { status: status('Running', false) })
    if (event === 'fail' && isRunning) change(pod, { status: status('Failed', false) })
    if (event === 'succeed' && isRunning) change(pod, { status: status('Succeeded', false) })
    if (event === 'delete') {
      const mark = { deletionTimestamp: timestamp(now), deletionGracePeriodSeconds: 30 }
      if (!isRunning) end(pod, now)
      else if (!meta.terminating) change(pod, { metadata: mark })
    }
    if (event === 'end' && meta.terminating) end(pod, now)
  }

  function serve(now: number): void {
    for (const event of ['end', 'bind', 'ready'] as const) {
      for (const pod of pods()) act(pod, event, now)
    }
  }

  return { pods, act, serve }
}

/** Reconciles `shop/web` until nothing is left to write; fails after `limit` rounds. Returns all writes. */
export async function settle(
  cluster: FakeCluster,
  controller: Controller,
  now: number,
  limit = 60,
): Promise<readonly string[]> {
  const log: string[] = []
  for (let round = 0; round < limit; round++) {
    const writes = await reconcile(cluster, { controller, now })
    if (writes.length === 0) return log
    log.push(...writes)
  }
  throw new Error(`not settled: ${log.slice(-10).join(', ')}`)
}

function nameOf(pod: JsonObject): string {
  return readMeta(pod).name
}

/** A part of the metadata of an object. */
export function labelOf(object: JsonObject, name: string): string {
  return stringAt(objectAt(object, 'metadata', 'labels'), name)
}
