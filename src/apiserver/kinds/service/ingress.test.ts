import { expect, test } from 'vitest'
import { type JsonObject, valueAt } from '../../../lib/json.ts'
import { type Answer, SERVICES, service, startApi } from '../../testing/test-api.ts'

const INGRESS = { loadBalancer: { ingress: [{ ip: '203.0.113.9' }] } }
const READY = { conditions: [{ type: 'Ready', status: 'True' }] }

async function balanced() {
  const api = await startApi()
  const headers = { 'content-type': 'application/merge-patch+json' }
  const patch = (body: JsonObject, path = ''): Promise<Answer> =>
    api.call('PATCH', `${SERVICES}/web${path}`, { body, headers })
  await api.make(SERVICES, service('web', { type: 'LoadBalancer' }))
  expect((await patch({ status: { ...INGRESS, ...READY } }, '/status')).status).toBe(200)
  return { api, patch }
}

test.each(['ClusterIP', 'NodePort'])('addresses go in the write that makes it %s', async (type) => {
  const { patch } = await balanced()
  const kept = await patch({ spec: { sessionAffinity: 'ClientIP' } })
  expect(kept.body['status']).toEqual({ ...INGRESS, ...READY })
  const changed = await patch({ spec: { type } })
  expect(changed.body).toMatchObject({ spec: { type }, status: READY })
  expect(valueAt(changed.body, 'status', 'loadBalancer')).toEqual({})
})

test('no client can report addresses for another type', async () => {
  const { patch } = await balanced()
  await patch({ spec: { type: 'NodePort' } })
  const answer = await patch({ status: INGRESS }, '/status')
  expect([answer.status, answer.body['message']]).toEqual([
    422,
    expect.stringContaining(
      'status.loadBalancer.ingress: Invalid value: [{"ip":"203.0.113.9"}]: may only be set for a Service of type LoadBalancer',
    ),
  ])
  expect((await patch({ status: { conditions: [] } }, '/status')).status).toBe(200)
})
