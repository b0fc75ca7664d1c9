import { type JsonObject, mergePatch, objectAt } from '../../../lib/json.ts'
import { readPod } from '../../objects/pod-object.ts'
import { clusterWith } from '../../testing/cluster-with.ts'
import { reconcile } from '../../testing/reconcile.ts'
import { statefulSetController } from '../statefulset-controller.ts'
import { type PodEvent, settle, simulateNodes } from './simulated-nodes.ts'

export const NOW = Date.UTC(2030, 0, 1)
const LABELS = { app: 'db' }

/** The StatefulSet `shop/web` of three Pods; `spec` is laid over its own. */
export function statefulSet(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'sts', generation: 3, ...metadata },
    spec: {
      replicas: 3,
      serviceName: 'db',
      selector: { matchLabels: LABELS },
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      template: templateWith('a'),
      ...spec,
    },
  }
}

/** A Pod template with this image. */
export function templateWith(image: string): JsonObject {
  return { metadata: { labels: LABELS }, spec: { containers: [{ name: 'main', image }] } }
}

/** A cluster with a StatefulSet, and what a test does with it. */
export function statefulScene(set: JsonObject) {
  const cluster = clusterWith(['statefulsets', set])
  const nodes = simulateNodes(cluster, 'node-a')
  const run = (now = NOW) => reconcile(cluster, { controller: statefulSetController, now })
  const settled = (now = NOW) => settle(cluster, statefulSetController, now)
  const status = () => objectAt(cluster.get('statefulsets', 'shop/web'), 'status')
  /** Changes parts of the spec. */
  const change = (spec: JsonObject) => {
    const known = cluster.get('statefulsets', 'shop/web')!
    cluster.put('statefulsets', mergePatch(known, { spec }) as JsonObject)
  }
  /** Does this to the Pod of an ordinal. */
  const actOn = (ordinal: number, ...events: readonly PodEvent[]) => {
    for (const event of events) {
      nodes.act(cluster.get('pods', `shop/web-${ordinal}`)!, event, NOW)
    }
  }
  /** `0 1! 2-`: the ordinals of the Pods, those that are ready with `!`, those that are being deleted with `-`. */
  const shown = () =>
    nodes
      .pods()
      .map(readPod)
      .map(({ meta, ready }) => {
        const state = meta.terminating ? '-' : ready ? '!' : ''
        return `${meta.name.slice('web-'.length)}${state}`
      })
      .join(' ')
  /** Lets the nodes serve and the controller reconcile until nothing changes. */
  const complete = async (now = NOW) => {
    for (let round = 0; round < 20; round++) {
      await settled(now)
      nodes.serve(now)
    }
    await settled(now)
  }
  return { cluster, run, settled, status, change, actOn, shown, complete, ...nodes }
}
