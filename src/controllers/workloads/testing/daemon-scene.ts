import { type JsonObject, mergePatch, objectAt } from '../../../lib/json.ts'
import { readPod } from '../../objects/pod-object.ts'
import { clusterWith } from '../../testing/cluster-with.ts'
import { reconcile } from '../../testing/reconcile.ts'
import { daemonSetController } from '../daemonset-controller.ts'
import { settle, simulateNodes } from './simulated-nodes.ts'

export const NOW = Date.UTC(2030, 0, 1)
const LABELS = { app: 'web' }

/** The DaemonSet `shop/web`; `spec` is laid over its own. */
export function daemonSet(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'ds', generation: 3, ...metadata },
    spec: {
      selector: { matchLabels: LABELS },
      template: template({}),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      ...spec,
    },
  }
}

/** A Pod template; `spec` is laid over its own. */
export function template(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { labels: LABELS, ...metadata },
    spec: { containers: [{ name: 'main', image: 'a' }], ...spec },
  }
}

/** A Node whose uid is its name. */
export function node(name: string, spec: JsonObject = {}, labels: JsonObject = {}): JsonObject {
  return { metadata: { name, uid: name, labels }, spec }
}

/** A cluster with a DaemonSet and nodes, and what a test does with it. */
export function daemonScene(set: JsonObject, ...nodes: readonly JsonObject[]) {
  const cluster = clusterWith(['daemonsets', set], ...nodes.map((one) => ['nodes', one] as const))
  const simulated = simulateNodes(cluster)
  const run = (now = NOW) => reconcile(cluster, { controller: daemonSetController, now })
  const settled = (now = NOW) => settle(cluster, daemonSetController, now)
  const status = () => objectAt(cluster.get('daemonsets', 'shop/web'), 'status')
  /** Names of nodes that have Pods, once for each. */
  const used = () =>
    simulated
      .pods()
      .map((pod) => readPod(pod).nodeName || readPod(pod).wantedNode)
      .toSorted()
  /** Puts the set with other parts of its spec. */
  const change = (spec: JsonObject) => {
    const known = cluster.get('daemonsets', 'shop/web')!
    cluster.put('daemonsets', mergePatch(known, { spec }) as JsonObject)
  }
  return { cluster, run, settled, status, used, change, ...simulated }
}
