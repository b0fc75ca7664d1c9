import { type JsonObject, mergePatch, objectAt } from '../../../lib/json.ts'
import { readPod } from '../../objects/pod-object.ts'
import { clusterWith } from '../../testing/cluster-with.ts'
import { reconcile } from '../../testing/reconcile.ts'
import { jobController } from '../job-controller.ts'
import { type PodEvent, settle, simulateNodes } from './simulated-nodes.ts'

export const NOW = Date.UTC(2030, 0, 1)
export const TRACKING = 'batch.kubernetes.io/job-tracking'
const LABELS = { 'batch.kubernetes.io/controller-uid': 'job' }

/** The Job `shop/web` of one Pod; `spec` is laid over its own. */
export function job(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'job', ...metadata },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      selector: { matchLabels: LABELS },
      template: {
        metadata: { labels: { ...LABELS, app: 'web' } },
        spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] },
      },
      ...spec,
    },
  }
}

/** A Job with an index for each of its Pods. */
export function indexed(completions: number, spec: JsonObject = {}): JsonObject {
  return job({ completionMode: 'Indexed', completions, parallelism: completions, ...spec })
}

/** A cluster with a Job, and what a test does with it. */
export function jobScene(object: JsonObject) {
  const cluster = clusterWith(['jobs', object])
  const nodes = simulateNodes(cluster, 'node-a')
  const get = () => cluster.get('jobs', 'shop/web')!
  const run = (now = NOW) => reconcile(cluster, { controller: jobController, now })
  const settled = (now = NOW) => settle(cluster, jobController, now)
  const status = () => objectAt(get(), 'status')
  /** Changes parts of the spec. */
  const change = (spec: JsonObject) => {
    cluster.put('jobs', mergePatch(get(), { spec }) as JsonObject)
  }
  /** What happens to the Pod with this number among those that have not ended, and what the controller does then. */
  const happens = async (events: readonly PodEvent[], now = NOW, at = 0) => {
    for (const event of events) {
      const open = nodes.pods().filter((pod) => !readPod(pod).finished)
      nodes.act(open[at]!, event, now)
    }
    return settled(now)
  }
  /** `Pending Running-`: the phases of the Pods, with `-` those that are being deleted. */
  const shown = () =>
    nodes
      .pods()
      .map(readPod)
      .map(({ phase, meta }) => `${phase || 'Pending'}${meta.terminating ? '-' : ''}`)
      .toSorted()
      .join(' ')
  return { cluster, get, run, settled, status, change, happens, shown, ...nodes }
}
