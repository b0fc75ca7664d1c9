import { expect, test } from 'vitest'
import type { JsonObject } from '../../../lib/json.ts'
import { POD, PODS, startApi } from '../../testing/test-api.ts'

const WEB = `${PODS}/web`
const TO_N1 = { target: { kind: 'Node', name: 'n1' } }

async function withPod(pod: JsonObject = {}, spec: JsonObject = {}) {
  const api = await startApi()
  await api.make(PODS, { metadata: { name: 'web', ...pod }, spec: { ...POD, ...spec } })
  const bind = (body: JsonObject, query = '') =>
    api.call('POST', `${WEB}/binding${query}`, { body })
  return { api, bind, read: async () => (await api.call('GET', WEB)).body }
}

test('a Binding binds the Pod, adds its annotations, and answers with a Status', async () => {
  const { bind, read } = await withPod({ annotations: { a: '1', b: '1' } })
  const metadata = { name: 'web', annotations: { b: '2', c: '2' } }
  expect(await bind({ apiVersion: 'v1', kind: 'Binding', metadata, ...TO_N1 })).toMatchObject({
    status: 201,
    body: { kind: 'Status', status: 'Success' },
  })
  expect(await read()).toMatchObject({
    metadata: { annotations: { a: '1', b: '2', c: '2' } },
    spec: { nodeName: 'n1' },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }] },
  })
})

test('a dry run binds nothing', async () => {
  const { bind, read } = await withPod()
  expect((await bind(TO_N1, '?dryRun=All')).status).toBe(201)
  expect((await read())['spec']).not.toHaveProperty('nodeName')
})

test.each<[number, string, JsonObject, JsonObject]>([
  [409, 'already assigned to node "n0"', TO_N1, { nodeName: 'n0' }],
  [409, 'schedulingGates', TO_N1, { schedulingGates: [{ name: 'a.b/c' }] }],
  [409, 'the uid in the Binding', { metadata: { uid: 'x' }, ...TO_N1 }, {}],
  [409, 'the resourceVersion in', { metadata: { resourceVersion: '1' }, ...TO_N1 }, {}],
  [422, 'target.name', { target: { kind: 'Node' } }, {}],
  [422, 'target.kind', { target: { kind: 'Pod', name: 'n1' } }, {}],
  [400, 'the name in metadata', { metadata: { name: 'other' }, ...TO_N1 }, {}],
  [400, 'where a Binding is expected', { kind: 'Pod', ...TO_N1 }, {}],
])('%i: %s', async (code, why, binding, spec) => {
  const { bind, read } = await withPod({}, spec)
  const before = await read()
  expect((await bind(binding)).body).toMatchObject({
    code,
    message: expect.stringContaining(why),
  })
  expect(await read()).toEqual(before)
})

test('of two Bindings one wins, and a Pod that does not exist has none', async () => {
  const { api, bind, read } = await withPod()
  const answers = await Promise.all([bind(TO_N1), bind({ target: { name: 'n2' } })])
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]))
  const winner = answers[0]?.status === 201 ? 'n1' : 'n2'
  expect(await read()).toMatchObject({ spec: { nodeName: winner } })
  expect((await api.call('POST', `${PODS}/none/binding`, { body: TO_N1 })).status).toBe(404)
})
