import { expect, it } from 'vitest'
import { startApi } from '../../apiserver/testing/test-api.ts'
import { encryptedStore } from '../../storage/encryption/encrypted-store.ts'
import { encryptValue, keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import { Keyring } from '../../storage/encryption/keyring.ts'
import { testKey } from '../../storage/encryption/testing/test-keys.ts'
import type { Store } from '../../storage/store.ts'
import { CONFIDENTIAL_PREFIXES } from './open-encryption.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const KEY = '/secrets/default/lost'

it('a Secret whose key is missing is named and can be discarded, others are served', async () => {
  const encryption = { keys: new Keyring([testKey('a')]), prefixes: CONFIDENTIAL_PREFIXES }
  const wrap = (store: Store): Store => encryptedStore(store, encryption)
  const api = await startApi({ wrap, onError: () => undefined })
  const inner = api.store
  const data = { password: 'cGFzc3dvcmQ=' }
  await api.make(SECRETS, { metadata: { name: 'kept' }, data })
  const value = encryptValue(testKey('gone'), KEY, Buffer.from('{}'))
  const put = { op: 'put', key: KEY, value } as const
  const { revision } = await inner.txn({ compare: [], operations: [put] })
  const read = await api.call('GET', `${SECRETS}/lost`)
  expect([read.status, read.text]).toEqual([500, expect.stringContaining('put that key back')])
  const listed = await api.call('GET', `${SECRETS}?resourceVersion=${revision}`)
  expect(listed.body).toMatchObject({ items: [{ metadata: { name: 'kept' }, data }] })
  expect(String(listed.headers['warning'])).toContain(KEY)
  const ready = await api.call('GET', '/readyz?verbose')
  expect([ready.status, ready.text]).toEqual([200, expect.stringContaining(KEY)])
  const again = { metadata: { name: 'lost' }, data }
  expect((await api.call('POST', SECRETS, { body: again })).status).toBe(409)
  expect((await api.call('DELETE', `${SECRETS}/lost`)).status).toBe(200)
  expect((await api.call('POST', SECRETS, { body: again })).status).toBe(201)
  expect(keyNameOf((await inner.get(KEY))!.value)).toBe('a')
})
