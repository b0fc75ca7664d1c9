import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type SecuredApi, startSecuredApi } from '../../apiserver/testing/secured-api.ts'
import { PODS } from '../../apiserver/testing/test-api.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt, without } from '../../lib/json.ts'
import { REVISION } from '../../resources/label-names.ts'
import { controlPlaneAccounts, startControlPlane } from '../testing/control-plane.ts'
import { expectGone, expectSoon } from '../testing/expect-soon.ts'
import { conditionOf, readyCondition } from '../testing/fixtures.ts'

const APPS = '/apis/apps/v1/namespaces/default'
const DEPLOYMENTS = `${APPS}/deployments`
const SETS = `${APPS}/replicasets`
const EVENTS = '/api/v1/namespaces/default/events'
const MERGE = { 'content-type': 'application/merge-patch+json' }

let api: SecuredApi

beforeEach(async () => {
  api = await startSecuredApi(controlPlaneAccounts)
  startControlPlane(api.socketPath, { expected: /^problem replicaset NP_CONTROLLERS_WRITE$/ })
  await runPods()
})

/** Makes every Pod ready that appears, as its node would. */
async function runPods(): Promise<void> {
  const watch = await api.watch(`${PODS}?watch=true`)
  const status = { phase: 'Running', conditions: [readyCondition(true)] }
  const run = async (): Promise<void> => {
    for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
      if (event.type !== 'ADDED') continue
      const name = stringAt(event.object, 'metadata', 'name')
      await api.call('PATCH', `${PODS}/${name}/status`, { body: { status }, headers: MERGE })
    }
  }
  void run()
  onTestFinished(() => watch.close())
}

function deployment(pod: JsonObject = {}): JsonObject {
  const labels = { app: 'web' }
  const containers = [{ name: 'main', image: 'web:1' }]
  const template = { metadata: { labels }, spec: { containers, ...pod } }
  const selector = { matchLabels: labels }
  return { metadata: { name: 'web' }, spec: { replicas: 2, selector, template } }
}

async function patch(body: JsonObject, path = `${DEPLOYMENTS}/web`): Promise<void> {
  const { status, text } = await api.call('PATCH', path, { body, headers: MERGE })
  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
}

/** Waits until the rollout of a revision is complete with this many Pods. */
async function complete(revision: string, replicas: number): Promise<JsonObject> {
  let found: JsonObject = {}
  await expectSoon(api, DEPLOYMENTS, (items) => {
    found = items[0] ?? {}
    const { metadata, status } = found
    return (
      stringAt(metadata, 'annotations', REVISION) === revision &&
      valueAt(status, 'observedGeneration') === valueAt(metadata, 'generation') &&
      ['replicas', 'updatedReplicas', 'availableReplicas'].every(
        (field) => valueAt(status, field) === replicas,
      ) &&
      stringAt(conditionOf(found, 'Progressing'), 'reason') === 'NewReplicaSetAvailable'
    )
  })
  return found
}

async function itemsOf(path: string): Promise<readonly JsonObject[]> {
  const { body } = await api.call('GET', path)
  return arrayAt(body, 'items').map((one) => objectAt(one))
}

async function setOf(revision: string): Promise<JsonObject> {
  const sets = await itemsOf(SETS)
  return sets.find((set) => stringAt(set, 'metadata', 'annotations', REVISION) === revision) ?? {}
}

const images = async (): Promise<readonly string[]> =>
  (await itemsOf(PODS)).map((pod) => stringAt(arrayAt(pod, 'spec', 'containers')[0], 'image'))

test('a Deployment is made, scaled, updated, rolled back and deleted with all that it made', async () => {
  await api.make(DEPLOYMENTS, deployment())
  await complete('1', 2)
  expect(await images()).toEqual(['web:1', 'web:1'])
  await patch({ spec: { replicas: 3 } }, `${DEPLOYMENTS}/web/scale`)
  await complete('1', 3)
  const containers = [{ name: 'main', image: 'web:2' }]
  await patch({ spec: { template: { spec: { containers } } } })
  await complete('2', 3)
  expect(await images()).toEqual(['web:2', 'web:2', 'web:2'])
  const first = await setOf('1')
  expect(first).toMatchObject({ spec: { replicas: 0 } })
  const { spec } = objectAt(first, 'spec', 'template')
  await patch({ spec: { template: { spec: spec! } } })
  await complete('3', 3)
  expect(await setOf('3')).toMatchObject({
    metadata: {
      uid: stringAt(first, 'metadata', 'uid'),
      annotations: { 'deployment.kubernetes.io/revision-history': '1' },
    },
  })
  expect(await itemsOf(SETS)).toHaveLength(2)
  expect(await images()).toEqual(['web:1', 'web:1', 'web:1'])
  await api.call('DELETE', `${DEPLOYMENTS}/web`)
  await expectSoon(api, SETS, (items) => items.length === 0)
  await expectSoon(api, PODS, (items) => items.length === 0)
})

test('a deletion in the foreground removes the Pods first', async () => {
  await api.make(DEPLOYMENTS, deployment())
  await complete('1', 2)
  await api.call('DELETE', `${DEPLOYMENTS}/web?propagationPolicy=Foreground`)
  await expectGone(api, `${DEPLOYMENTS}/web`)
  expect(await itemsOf(SETS)).toEqual([])
  expect(await itemsOf(PODS)).toEqual([])
})

test('ReplicaSets that a deletion leaves behind are adopted by the next Deployment of the name', async () => {
  await api.make(DEPLOYMENTS, deployment())
  await complete('1', 2)
  const pods = (await itemsOf(PODS)).map((pod) => stringAt(pod, 'metadata', 'uid'))
  await api.call('DELETE', `${DEPLOYMENTS}/web?propagationPolicy=Orphan`)
  await expectGone(api, `${DEPLOYMENTS}/web`)
  await api.make(DEPLOYMENTS, deployment())
  await complete('1', 2)
  const after = (await itemsOf(PODS)).map((pod) => stringAt(pod, 'metadata', 'uid'))
  expect(after.toSorted()).toEqual(pods.toSorted())
})

test('a rollout at rest writes nothing', async () => {
  await api.make(DEPLOYMENTS, deployment())
  await complete('1', 2)
  const all = async () => [...(await itemsOf(SETS)), ...(await itemsOf(DEPLOYMENTS))]
  const before = await all()
  // What a controller does because of a later change is done after what it had to do before.
  await api.make(DEPLOYMENTS, {
    ...deployment(),
    metadata: { name: 'other' },
    spec: { ...without(objectAt(deployment(), 'spec'), 'selector'), ...OTHER },
  })
  await expectSoon(api, DEPLOYMENTS, (items) =>
    items.some(
      (one) =>
        stringAt(one, 'metadata', 'name') === 'other' &&
        valueAt(one, 'status', 'availableReplicas') === 2,
    ),
  )
  const after = await all()
  for (const object of before) expect(after).toContainEqual(object)
})

const OTHER: JsonObject = {
  selector: { matchLabels: { app: 'other' } },
  template: {
    metadata: { labels: { app: 'other' } },
    spec: { containers: [{ name: 'main', image: 'other' }] },
  },
}

test('Pods that are refused are reported by the ReplicaSet and the Deployment, until they are made', async () => {
  await api.make(DEPLOYMENTS, deployment({ serviceAccountName: 'builder' }))
  await expectSoon(api, DEPLOYMENTS, ([one]) => {
    const failure = conditionOf(one, 'ReplicaFailure')
    const { status, reason } = failure
    const isOfAccount = stringAt(failure, 'message').includes('builder')
    return status === 'True' && reason === 'FailedCreate' && isOfAccount
  })
  await expectSoon(api, EVENTS, (items) =>
    items.some(
      (one) =>
        stringAt(one, 'reason') === 'FailedCreate' &&
        stringAt(one, 'message').startsWith('Error creating: ') &&
        stringAt(one, 'involvedObject', 'kind') === 'ReplicaSet',
    ),
  )
  await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'builder' } })
  const done = await complete('1', 2)
  expect(conditionOf(done, 'ReplicaFailure')).toEqual({})
})
