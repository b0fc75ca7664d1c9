import { expect, test } from 'vitest'
import { type JsonObject, stringAt } from '../../../lib/json.ts'
import { POD, PODS, startApi } from '../../testing/test-api.ts'

const WEB = `${PODS}/web`
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const LABELS = { app: 'web' }
const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
const NOT_READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] }

/** A Pod on a node, and a budget for it with this status. */
async function scene(status: JsonObject = READY, ...budgets: readonly JsonObject[]) {
  const api = await startApi()
  await api.make(PODS, {
    metadata: { name: 'web', labels: LABELS },
    spec: { ...POD, nodeName: 'n1' },
  })
  const set = (path: string, body: JsonObject) =>
    api.call('PATCH', `${path}/status`, { body, headers: MERGE })
  await set(WEB, { status })
  for (const [index, { spec = {}, ...counted }] of budgets.entries()) {
    const name = `b${index}`
    const selector = { matchLabels: LABELS }
    await api.make(BUDGETS, {
      metadata: { name },
      spec: { selector, minAvailable: 1, ...Object(spec) },
    })
    await set(`${BUDGETS}/${name}`, { status: { observedGeneration: 1, ...counted } })
  }
  const evict = (body: JsonObject = {}, query = '') =>
    api.call('POST', `${WEB}/eviction${query}`, { body })
  const pod = async () => (await api.call('GET', WEB)).body
  const budget = async () => (await api.call('GET', `${BUDGETS}/b0`)).body
  return { api, evict, pod, budget }
}

const ALLOWS = { currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1 }
const FORBIDS = { currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0 }

test('an eviction spends the budget, and deletes the Pod with its grace and the reason', async () => {
  const { evict, pod, budget } = await scene(READY, ALLOWS)
  const deleteOptions = { gracePeriodSeconds: 7 }
  const metadata = { name: 'web', namespace: 'default' }
  const sent = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions }
  expect(await evict(sent)).toMatchObject({ status: 201, body: { status: 'Success' } })
  expect(await pod()).toMatchObject({
    metadata: { deletionGracePeriodSeconds: 7 },
    status: {
      conditions: [
        { type: 'Ready' },
        { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' },
      ],
    },
  })
  expect(await budget()).toMatchObject({
    status: { disruptionsAllowed: 0, disruptedPods: { web: expect.any(String) } },
  })
  expect((await evict()).status).toBe(201)
})

test('an eviction of one version of a Pod', async () => {
  const { evict, pod, budget } = await scene(READY, ALLOWS)
  const at = (resourceVersion: string) =>
    evict({ deleteOptions: { preconditions: { resourceVersion } } })
  expect((await at('1')).status).toBe(409)
  expect(await budget()).toMatchObject({ status: { disruptionsAllowed: 1 } })
  const version = stringAt(await pod(), 'metadata', 'resourceVersion')
  expect((await at(version)).status).toBe(201)
  expect(await pod()).toMatchObject({ metadata: { deletionGracePeriodSeconds: 30 } })
})

test.each<[string, JsonObject]>([
  ['needs 1 healthy pods and has 1 currently', FORBIDS],
  ['is still being processed by the server', { ...ALLOWS, observedGeneration: 0 }],
])('429: the budget %s', async (why, counted) => {
  const { evict, pod, budget } = await scene(READY, counted)
  const before = [await pod(), await budget()]
  const { headers, body } = await evict()
  expect(headers['retry-after']).toBe('10')
  expect(body).toMatchObject({
    code: 429,
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [{ reason: 'DisruptionBudget', message: expect.stringContaining(why) }],
    },
  })
  expect([await pod(), await budget()]).toEqual(before)
})

test.each<[string, JsonObject, readonly JsonObject[]]>([
  ['has no budget', READY, []],
  [
    'is selected by no budget',
    READY,
    [{ ...FORBIDS, spec: { selector: { matchLabels: { app: 'x' } } } }],
  ],
  ['runs nothing yet', { phase: 'Pending' }, [FORBIDS]],
  ['has ended', { phase: 'Failed' }, [FORBIDS]],
  ['is not ready beside enough that are', NOT_READY, [FORBIDS]],
  [
    'is not ready, where that is always permitted',
    NOT_READY,
    [{ currentHealthy: 0, desiredHealthy: 1, spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } }],
  ],
])('a Pod that %s is evicted', async (_, status, budgets) => {
  const { evict } = await scene(status, ...budgets)
  expect((await evict()).status).toBe(201)
})

test('a Pod that is not ready beside too few others is not', async () => {
  const { evict } = await scene(NOT_READY, { currentHealthy: 0, desiredHealthy: 1 })
  expect((await evict()).status).toBe(429)
})

test('two budgets for one Pod are refused', async () => {
  const { evict } = await scene(READY, ALLOWS, ALLOWS)
  expect((await evict()).body).toMatchObject({
    code: 500,
    message: expect.stringContaining('more than one PodDisruptionBudget'),
  })
})

test('kubectl before 1.22 sends an older version; a dry run changes nothing', async () => {
  const { evict, pod, budget } = await scene(READY, ALLOWS)
  const before = [await pod(), await budget()]
  const old = { apiVersion: 'policy/v1beta1', kind: 'Eviction' }
  expect((await evict(old, '?dryRun=All')).status).toBe(201)
  expect((await evict({ ...old, deleteOptions: { dryRun: ['All'] } })).status).toBe(201)
  expect([await pod(), await budget()]).toEqual(before)
  expect((await evict(old)).status).toBe(201)
})

test('what no eviction is, or is of another Pod, is refused', async () => {
  const { evict, api } = await scene()
  expect((await evict({ apiVersion: 'policy/v2' })).status).toBe(400)
  expect((await evict({ metadata: { name: 'other' } })).status).toBe(400)
  const uid = { deleteOptions: { preconditions: { uid: 'x' } } }
  expect((await evict(uid)).status).toBe(409)
  expect((await api.call('POST', `${PODS}/none/eviction`, { body: {} })).status).toBe(404)
})

test.each<[JsonObject, number]>([
  [{ minAvailable: 1 }, 201],
  [{ maxUnavailable: '50%' }, 201],
  [{}, 201],
  [{ minAvailable: 1, maxUnavailable: 1 }, 422],
  [{ minAvailable: '101%' }, 422],
  [{ minAvailable: -1 }, 422],
  [{ unhealthyPodEvictionPolicy: 'Never' }, 422],
  [{ selector: { matchLabels: { 'a b': '' } } }, 422],
])('a budget with %j: %i', async (spec, status) => {
  const { api } = await scene()
  const body = { metadata: { name: 'b' }, spec }
  expect((await api.call('POST', BUDGETS, { body })).status).toBe(status)
})
