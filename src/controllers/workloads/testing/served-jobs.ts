import { type JsonObject, stringAt, valueAt } from '../../../lib/json.ts'
import { readPod } from '../../objects/pod-object.ts'
import { expectGone, expectSoon } from '../../testing/expect-soon.ts'
import type { ServedApi } from '../../testing/served-api.ts'
import { serveNodes } from './served-nodes.ts'

const JOBS = '/apis/batch/v1/namespaces/default/jobs'
const PODS = '/api/v1/namespaces/default/pods'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const NODE = 'work-a'

/**
 * Three Jobs: `done` succeeds and is deleted in its time; `idle`, one of whose Pods is not wanted any more, is deleted while
 * they run; `left` is deleted without its Pods.
 */
export async function jobLife(api: ServedApi): Promise<void> {
  await api.make('/api/v1/nodes', { metadata: { name: NODE } })
  await serveNodes(api, 'work=done', NODE, { phase: 'Succeeded' })
  await serveNodes(api, 'work=runs', NODE)
  await api.make(JOBS, job('done', 'done', { completions: 2, ttlSecondsAfterFinished: 0 }))
  await expectGone(api, `${JOBS}/done`)
  await expectSoon(api, PODS, (items) => podsOf('done', items).length === 0)
  for (const name of ['idle', 'left']) await api.make(JOBS, job(name, 'runs', { parallelism: 2 }))
  const isActive = (count: number) => (items: readonly JsonObject[]) =>
    items.every((one) => valueAt(one, 'status', 'ready') === count)
  await expectSoon(api, JOBS, (items) => items.length === 2 && isActive(2)(items))
  const body = { spec: { parallelism: 1 } }
  await api.call('PATCH', `${JOBS}/idle`, { body, headers: MERGE })
  await expectSoon(api, PODS, (items) => podsOf('idle', items).length === 1)
  await api.call('DELETE', `${JOBS}/idle`)
  await expectSoon(api, PODS, (items) => podsOf('idle', items).length === 0)
  await api.call('DELETE', `${JOBS}/left?propagationPolicy=Orphan`)
  await expectGone(api, `${JOBS}/left`)
  const isFree = (pod: JsonObject): boolean => {
    const { owners, finalizers, terminating } = readPod(pod).meta
    return owners.length + finalizers.length === 0 && !terminating
  }
  await expectSoon(api, PODS, (items) => {
    const pods = podsOf('left', items)
    return pods.length === 2 && pods.every(isFree)
  })
}

function podsOf(job: string, items: readonly JsonObject[]): readonly JsonObject[] {
  return items.filter((one) => stringAt(one, 'metadata', 'labels', 'job-name') === job)
}

function job(name: string, work: string, spec: JsonObject): JsonObject {
  const containers = [{ name: 'main', image: 'none' }]
  const template = {
    metadata: { labels: { work } },
    spec: { restartPolicy: 'Never', containers },
  }
  return { metadata: { name }, spec: { template, ...spec } }
}
