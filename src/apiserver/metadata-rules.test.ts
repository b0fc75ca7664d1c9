import { expect, test } from 'vitest'
import { ENDPOINTS, startApi } from './test-api.ts'

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
