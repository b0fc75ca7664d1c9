import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { expectGone, expectSoon } from '../../testing/expect-soon.ts'
import type { ServedApi } from '../../testing/served-api.ts'
import { serveNodes } from './served-nodes.ts'

const APPS = '/apis/apps/v1/namespaces/default'
const REVISIONS = `${APPS}/controllerrevisions`
const PODS = '/api/v1/namespaces/default/pods'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' }

/** An API server whose answers are read. */
interface ReadableApi extends ServedApi {
  call(
    ...request: Parameters<ServedApi['call']>
  ): Promise<{ readonly status: number; readonly body: JsonObject }>
}

/** What the Pods and the revisions of a set were at some moment. */
export interface SetState {
  /** `NAME IMAGE` of each Pod; where the server made the name, `NODE IMAGE`. */
  readonly pods: readonly string[]
  /** `NUMBER IMAGE` of each revision. */
  readonly revisions: readonly string[]
}

/** The states of a set after each step of its life. */
export interface SetLife {
  readonly made: SetState
  readonly changed: SetState
  readonly undone: SetState
  readonly forgotten: SetState
  readonly deleted: SetState
}

/**
 * A DaemonSet on two nodes, one of which has an orphan of its selector: it is made, gets another image, goes back by its
 * ControllerRevision, forgets its history, and is deleted.
 */
export async function daemonSetLife(api: ReadableApi): Promise<SetLife> {
  const labels = { app: 'daemon' }
  await serveNodes(api, 'app=daemon')
  for (const name of ['daemon-a', 'daemon-b']) {
    await api.make('/api/v1/nodes', { metadata: { name, labels: { daemon: 'yes' } } })
  }
  const containers = [{ name: 'main', image: 'one' }]
  await api.make(PODS, {
    metadata: { name: 'orphan', labels },
    spec: { containers, nodeName: 'daemon-a' },
  })
  const template = { metadata: { labels }, spec: { containers, nodeSelector: { daemon: 'yes' } } }
  const spec = { selector: { matchLabels: labels }, template }
  return lifeOf(
    api,
    { plural: 'daemonsets', name: 'daemon', spec },
    ({ updatedNumberScheduled, numberAvailable }) =>
      updatedNumberScheduled === 2 && numberAvailable === 2,
  )
}

/** The same of a StatefulSet of two Pods, the first of which is an orphan. */
export async function statefulSetLife(api: ReadableApi): Promise<SetLife> {
  const labels = { app: 'state' }
  await api.make('/api/v1/nodes', { metadata: { name: 'state-a' } })
  await serveNodes(api, 'app=state', 'state-a')
  const containers = [{ name: 'main', image: 'one' }]
  await api.make(PODS, { metadata: { name: 'state-0', labels }, spec: { containers } })
  const template = { metadata: { labels }, spec: { containers } }
  const spec = { replicas: 2, serviceName: 'db', selector: { matchLabels: labels }, template }
  return lifeOf(
    api,
    { plural: 'statefulsets', name: 'state', spec },
    ({ updatedReplicas, availableReplicas }) => updatedReplicas === 2 && availableReplicas === 2,
  )
}

interface MadeSet {
  readonly plural: string
  /** Also the label `app` of its Pods. */
  readonly name: string
  readonly spec: JsonObject
}

async function lifeOf(
  api: ReadableApi,
  { plural, name, spec }: MadeSet,
  isComplete: (status: JsonObject) => boolean,
): Promise<SetLife> {
  const path = `${APPS}/${plural}`
  const complete = async (): Promise<SetState> => {
    await expectSoon(api, path, ([set]) => {
      const status = objectAt(set, 'status')
      const isSeen = status['observedGeneration'] === valueAt(set, 'metadata', 'generation')
      return isSeen && isComplete(status)
    })
    return stateOf(api, name)
  }
  const patch = (body: JsonObject, headers = MERGE) =>
    api.call('PATCH', `${path}/${name}`, { body, headers })
  await api.make(path, { metadata: { name }, spec })
  const made = await complete()
  const first = await revisionOf(api, name, 'one')
  await patch({ spec: { template: { spec: { containers: [{ name: 'main', image: 'two' }] } } } })
  const changed = await complete()
  await patch(objectAt(first, 'data'), STRATEGIC)
  const undone = await complete()
  await patch({ spec: { revisionHistoryLimit: 0 } })
  await expectSoon(api, REVISIONS, (items) => items.filter((one) => isOf(one, name)).length === 1)
  const forgotten = await complete()
  const dependents = [...(await pathsOf(api, REVISIONS, name)), ...(await pathsOf(api, PODS, name))]
  await api.call('DELETE', `${path}/${name}`)
  for (const one of dependents) await expectGone(api, one)
  return { made, changed, undone, forgotten, deleted: await stateOf(api, name) }
}

async function stateOf(api: ReadableApi, name: string): Promise<SetState> {
  const pods = await itemsOf(api, PODS, name)
  const revisions = await itemsOf(api, REVISIONS, name)
  return {
    pods: pods
      .map((pod) => {
        const isGenerated = stringAt(pod, 'metadata', 'generateName') !== ''
        const who = isGenerated
          ? stringAt(pod, 'spec', 'nodeName')
          : stringAt(pod, 'metadata', 'name')
        return `${who} ${imageOf(objectAt(pod, 'spec'))}`
      })
      .toSorted(),
    revisions: revisions
      .map(
        (one) =>
          `${one['revision'] as number} ${imageOf(objectAt(one, 'data', 'spec', 'template', 'spec'))}`,
      )
      .toSorted(),
  }
}

async function pathsOf(api: ReadableApi, path: string, name: string): Promise<readonly string[]> {
  const items = await itemsOf(api, path, name)
  return items.map((one) => `${path}/${stringAt(one, 'metadata', 'name')}`)
}

async function revisionOf(api: ReadableApi, name: string, image: string): Promise<JsonObject> {
  const revisions = await itemsOf(api, REVISIONS, name)
  const isWanted = (one: JsonObject): boolean =>
    imageOf(objectAt(one, 'data', 'spec', 'template', 'spec')) === image
  return revisions.find(isWanted) ?? {}
}

/** The objects of a collection with the label `app` of a set. */
async function itemsOf(
  api: ReadableApi,
  path: string,
  name: string,
): Promise<readonly JsonObject[]> {
  const { body } = await api.call('GET', path)
  return arrayAt(body, 'items')
    .filter(isJsonObject)
    .filter((one) => isOf(one, name))
}

function isOf(object: JsonObject, name: string): boolean {
  return stringAt(object, 'metadata', 'labels', 'app') === name
}

function imageOf(spec: JsonObject): string {
  return stringAt(arrayAt(spec, 'containers')[0], 'image')
}
