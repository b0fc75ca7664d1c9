import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createMemoryStore } from '../memory-store.ts'
import type { Store } from '../store.ts'
import { put, write } from '../testing/conformance-steps.ts'
import { encryptedStore } from './encrypted-store.ts'
import { encryptValue, keyNameOf } from './encrypted-value.ts'
import { type EncryptionKeys, Keyring } from './keyring.ts'
import { type RewriteOptions, type Rewritten, rewriteValues } from './rewrite-values.ts'
import { testKey } from './testing/test-keys.ts'

const [A, B] = [testKey('a'), testKey('b')]

function opened(keys: EncryptionKeys) {
  const inner = createMemoryStore()
  const encryption = { keys: new Keyring(keys), prefixes: ['/secrets/', '/other/'] }
  const clock = new FakeClock()
  const abort = new AbortController()
  const options: RewriteOptions = { store: inner, encryption, clock, signal: abort.signal }
  const rewrite = async (more: Partial<RewriteOptions> = {}): Promise<Rewritten> => {
    const result = rewriteValues({ ...options, ...more })
    await clock.advance(3_600_000)
    return result
  }
  return { inner, encryption, clock, abort, store: encryptedStore(inner, encryption), rewrite }
}

async function keysOf(inner: Store): Promise<readonly string[]> {
  const page = await inner.list({ prefix: '/' })
  if (page.refused !== undefined) throw new Error(page.refused)
  return page.entries.map(({ key, value }) => `${key} ${keyNameOf(value) ?? 'clear'}`)
}

test('values in clear and under other keys are encrypted with the first key', async () => {
  const { inner, store, encryption, rewrite } = opened([A])
  await write(inner, put('/secrets/x', '1'), put('/other/x', '2'), put('/services/x', '3'))
  await write(store, put('/secrets/y', '4'))
  expect(await rewrite()).toEqual({ rewritten: 2, undecryptable: 0 })
  expect(await keysOf(inner)).toEqual([
    '/other/x a',
    '/secrets/x a',
    '/secrets/y a',
    '/services/x clear',
  ])
  encryption.keys.replace([B, A])
  expect(await rewrite()).toEqual({ rewritten: 3, undecryptable: 0 })
  encryption.keys.replace([B])
  const page = await store.list({ prefix: '/' })
  expect(page.refused ?? page.entries.map(({ value }) => String(value))).toEqual([
    '2',
    '1',
    '4',
    '3',
  ])
})

test('a value that the driver reports as damaged stays as it is, for who repairs it', async () => {
  const { inner, encryption, rewrite } = opened([A])
  await write(inner, put('/secrets/x', 'torn'))
  const store: Store = {
    ...inner,
    list: async (query) => {
      const page = await inner.list(query)
      if (page.refused !== undefined) return page
      return { ...page, entries: page.entries.map((entry) => ({ ...entry, damaged: true })) }
    },
  }
  expect(await rewrite({ store, encryption })).toEqual({ rewritten: 0, undecryptable: 0 })
  expect(await keysOf(inner)).toEqual(['/secrets/x clear'])
})

test('nothing is written where there is nothing to do, and history stays', async () => {
  const { inner, store, rewrite } = opened([A])
  const first = await write(store, put('/secrets/x', '1'))
  await write(store, put('/secrets/x', '2'))
  expect(await rewrite()).toEqual({ rewritten: 0, undecryptable: 0 })
  expect((await inner.list({ prefix: '/', revision: first })).refused).toBeUndefined()
})

test('earlier versions in clear leave the history, later changes of others stay in it', async () => {
  const { inner, clock, rewrite } = opened([A])
  const first = await write(inner, put('/secrets/x', '1'), put('/secrets/gone', '2'))
  const last = (await write(inner, { op: 'delete', key: '/secrets/gone' })) + 1
  clock.after(5000, () => void write(inner, put('/services/x', '3')))
  await rewrite()
  expect(await inner.list({ prefix: '/', revision: first })).toMatchObject({ refused: 'compacted' })
  const then = await inner.list({ prefix: '/', revision: last })
  expect(then.refused ?? then.entries.map(({ key }) => key)).toEqual(['/secrets/x'])
})

test('a value that is written meanwhile is left to its writer', async () => {
  const { inner, store, rewrite } = opened([A])
  await write(inner, put('/secrets/x', 'old'))
  const racing: RewriteOptions['store'] = {
    ...inner,
    txn: async (transaction) => {
      if (String((await store.get('/secrets/x'))?.value) === 'old') {
        await write(store, put('/secrets/x', 'new'))
      }
      return inner.txn(transaction)
    },
  }
  expect(await rewrite({ store: racing })).toEqual({ rewritten: 0, undecryptable: 0 })
  expect(String((await store.get('/secrets/x'))?.value)).toBe('new')
})

test('a value that was written under the key before, while the work went on, is found', async () => {
  const { inner, encryption, clock, rewrite } = opened([B, A])
  const late = encryptedStore(inner, { ...encryption, keys: new Keyring([A]) })
  await write(late, put('/secrets/m', '1'))
  clock.after(5000, () => void write(late, put('/secrets/a', '2')))
  expect(await rewrite()).toEqual({ rewritten: 2, undecryptable: 0 })
  expect(await keysOf(inner)).toEqual(['/secrets/a b', '/secrets/m b'])
})

test('what cannot be decrypted is counted and left', async () => {
  const { inner, rewrite } = opened([B])
  const value = encryptValue(A, '/secrets/x', Buffer.from('1'))
  const modRevision = await write(
    inner,
    { op: 'put', key: '/secrets/x', value },
    put('/other/y', '2'),
  )
  expect(await rewrite()).toEqual({ rewritten: 1, undecryptable: 1 })
  expect(await inner.get('/secrets/x')).toMatchObject({ modRevision })
})

test('values of a first key that was not known before are written once more', async () => {
  const { inner, store, rewrite } = opened([A])
  const before = await write(store, put('/secrets/x', '1'))
  expect(await rewrite({ again: new Set(['a']) })).toEqual({ rewritten: 1, undecryptable: 0 })
  expect((await inner.get('/secrets/x'))?.modRevision).toBeGreaterThan(before)
})

test('at most 200 values are written in a second, and the end of the server ends the work', async () => {
  const { inner, encryption, clock, abort } = opened([A])
  for (let index = 0; index < 500; index++) await write(inner, put(`/secrets/${index}`, 'x'))
  const { signal } = abort
  const done = rewriteValues({ store: inner, encryption, clock, signal })
  const written = async () => (await keysOf(inner)).filter((line) => line.endsWith(' a')).length
  await clock.advance(0)
  for (let turn = 0; turn < 20; turn++) await clock.advance(0)
  expect(await written()).toBe(100)
  for (let turn = 0; turn < 20; turn++) await clock.advance(40)
  expect(await written()).toBe(200)
  abort.abort()
  expect(await done).toEqual({ rewritten: 200, undecryptable: 0 })
  expect(clock.pending()).toEqual([])
})
