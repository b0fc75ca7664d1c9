import { expect, test } from 'vitest'
import { type JsonObject, valueAt } from '../../lib/json.ts'
import { type Answer, ENDPOINTS, startApi } from '../testing/test-api.ts'

const OWNER = { apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'u' }

test('an owner is named completely', async () => {
  const api = await startApi()
  const metadata = { name: 'a', ownerReferences: [OWNER, { uid: 'x' }, { ...OWNER, uid: '' }] }
  const answer = await api.call('POST', ENDPOINTS, { body: { metadata } })
  const fields = ['[1].apiVersion', '[1].kind', '[1].name', '[2].uid']
  const causes = fields.map((field) => ({
    reason: 'FieldValueInvalid',
    message: 'Invalid value: "": must not be empty',
    field: `metadata.ownerReferences${field}`,
  }))
  expect(answer).toMatchObject({ status: 422, body: { details: { causes } } })
  const body = { metadata: { name: 'a', ownerReferences: [OWNER] } }
  expect(await api.call('POST', ENDPOINTS, { body })).toMatchObject({ status: 201 })
})

test('an Event owns nothing', async () => {
  const api = await startApi()
  const owned = (owner: JsonObject): Promise<Answer> =>
    api.call('POST', ENDPOINTS, { body: { metadata: { name: 'a', ownerReferences: [owner] } } })
  const { status, body } = await owned({ ...OWNER, kind: 'Event' })
  const message = expect.stringContaining('/v1, Kind=Event is disallowed from being an owner')
  const cause = { reason: 'FieldValueInvalid', message, field: 'metadata.ownerReferences[0]' }
  expect([status, valueAt(body, 'details', 'causes')]).toEqual([422, [cause]])
  const other = { ...OWNER, kind: 'Event', apiVersion: 'events.k8s.io/v1' }
  expect((await owned(other)).status).toBe(201)
})

test('an object has one controller at most', async () => {
  const api = await startApi()
  const controllers = ['a', 'b', 'c'].map((name) => ({ ...OWNER, name, controller: true }))
  const made = async (ownerReferences: readonly JsonObject[]): Promise<Answer> =>
    api.call('POST', ENDPOINTS, {
      body: { metadata: { name: 'a', ownerReferences: [...ownerReferences] } },
    })
  const { status, body } = await made([{ ...OWNER, controller: false }, ...controllers])
  const wrong = (name: string): string =>
    `Only one reference can have Controller set to true. Found "true" in references for Service/a and Service/${name}`
  expect([status, valueAt(body, 'details', 'causes')]).toEqual([
    422,
    ['b', 'c'].map((name) => ({
      reason: 'FieldValueInvalid',
      message: expect.stringContaining(wrong(name)) as string,
      field: 'metadata.ownerReferences',
    })),
  ])
  expect((await made([OWNER, controllers[0]!])).status).toBe(201)
})

test('a finalizer is one of the three that the API knows, or has a domain', async () => {
  const api = await startApi()
  const held = async (name: string, finalizers: readonly string[]): Promise<Answer> =>
    api.call('POST', ENDPOINTS, { body: { metadata: { name, finalizers: [...finalizers] } } })
  expect((await held('a', ['kubernetes', 'orphan', 'example.com/a'])).status).toBe(201)
  expect((await held('b', ['foregroundDeletion'])).status).toBe(201)
  const { status, body } = await held('c', ['example.com/a', 'mine'])
  const why = 'name is neither a standard finalizer name nor is it fully qualified'
  const message = `Invalid value: "mine": ${why}`
  const cause = { reason: 'FieldValueInvalid', message, field: 'metadata.finalizers[1]' }
  expect([status, valueAt(body, 'details', 'causes')]).toEqual([422, [cause]])
})

test('what is empty of the metadata is absent, as when the last owner is taken away', async () => {
  const api = await startApi()
  const metadata = { name: 'a', ownerReferences: [OWNER], finalizers: [], labels: {} }
  const made = await api.call('POST', ENDPOINTS, { body: { metadata } })
  const names = (body: JsonObject) => Object.keys(valueAt(body, 'metadata') as JsonObject)
  expect(names(made.body)).toContain('ownerReferences')
  expect(names(made.body)).not.toContain('finalizers')
  expect(names(made.body)).not.toContain('labels')
  const patched = await api.call('PATCH', `${ENDPOINTS}/a`, {
    body: { metadata: { ownerReferences: [] } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  expect(names(patched.body)).not.toContain('ownerReferences')
})
