import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbeddedStore } from '../embedded/embedded-store.ts'
import { newDirectory } from '../embedded/testing/fixtures.ts'
import { createMemoryStore } from '../memory-store.ts'
import type { Store } from '../store.ts'
import { describeStore } from '../testing/conformance.ts'
import { nextBatch, put, remove, write } from '../testing/conformance-steps.ts'
import { encryptedStore } from './encrypted-store.ts'
import { encryptValue, isEncrypted, keyNameOf } from './encrypted-value.ts'
import { Keyring } from './keyring.ts'
import { testKey } from './testing/test-keys.ts'

const PREFIXES = ['/secrets/']
const TEXT = 'correct horse battery staple'
const KEY = '/secrets/default/a'

const directories = new WeakMap<Store, string>()

/** Every key of the suite is confidential. */
async function open(directory: string): Promise<Store> {
  const inner = await openEmbeddedStore({ directory })
  const store = encryptedStore(inner, { keys: new Keyring([testKey('a')]), prefixes: ['/'] })
  directories.set(store, directory)
  return store
}

describeStore(
  'encrypted embedded',
  () => open(newDirectory()),
  async (store) => {
    await store.close()
    return await open(directories.get(store)!)
  },
)

function openPair() {
  const inner = createMemoryStore()
  const keys = new Keyring([testKey('a')])
  return { inner, keys, store: encryptedStore(inner, { keys, prefixes: PREFIXES }) }
}

async function storedAt(inner: Store, key: string): Promise<Buffer> {
  return (await inner.get(key))!.value
}

test('confidential values are stored encrypted, others as they are', async () => {
  const { inner, store } = openPair()
  await write(store, put(KEY, TEXT), put('/configmaps/default/a', TEXT), put('/secrets', TEXT))
  expect(keyNameOf(await storedAt(inner, KEY))).toBe('a')
  expect((await storedAt(inner, KEY)).includes(TEXT)).toBe(false)
  expect(String(await storedAt(inner, '/configmaps/default/a'))).toBe(TEXT)
  expect(String(await storedAt(inner, '/secrets'))).toBe(TEXT)
})

test('each way to read gives the value in clear', async () => {
  const { store } = openPair()
  const watch = store.watch({ prefix: '/', after: await store.revision() })
  const revision = await write(store, put(KEY, TEXT))
  await write(store, put(KEY, 'later'))
  expect(String((await store.get(KEY))?.value)).toBe('later')
  const past = await store.list({ prefix: '/', revision })
  expect(past.refused ?? past.entries.map(({ value }) => String(value))).toEqual([TEXT])
  const refused = await store.txn({
    compare: [
      { key: KEY, modRevision: 1 },
      { key: '/secrets/none', modRevision: 3 },
    ],
    operations: [remove(KEY)],
  })
  expect(refused.committed ? [] : refused.current.map((one) => one && String(one.value))).toEqual([
    'later',
    undefined,
  ])
  const { events } = await nextBatch(watch)
  expect(events.map(({ entry }) => String(entry?.value))).toEqual([TEXT, 'later'])
  await write(store, remove(KEY))
  expect((await nextBatch(watch)).events).toMatchObject([{ key: KEY, entry: undefined }])
})

test('a precondition holds for the stored version, whatever its bytes are', async () => {
  const { store } = openPair()
  const modRevision = await write(store, put(KEY, TEXT))
  const operations = [put(KEY, TEXT)]
  const first = await store.txn({ compare: [{ key: KEY, modRevision }], operations })
  const second = await store.txn({ compare: [{ key: KEY, modRevision }], operations })
  expect([first.committed, second.committed]).toEqual([true, false])
})

test('what is stored in clear is read as it is', async () => {
  const { inner, store } = openPair()
  await write(inner, put(KEY, TEXT))
  expect(await store.get(KEY)).toEqual(await inner.get(KEY))
})

test('what cannot be decrypted is damaged and says why, beside others that are served', async () => {
  const { inner, store } = openPair()
  const moved = encryptValue(testKey('a'), KEY, Buffer.from(TEXT))
  const foreign = encryptValue(testKey('gone'), '/secrets/default/c', Buffer.from(TEXT))
  const watch = store.watch({ prefix: '/', after: await store.revision() })
  await write(
    inner,
    { op: 'put', key: KEY, value: moved },
    { op: 'put', key: '/secrets/default/b', value: moved },
    { op: 'put', key: '/secrets/default/c', value: foreign },
  )
  const expected = [
    { key: KEY, value: Buffer.from(TEXT) },
    { damaged: true, undecryptable: expect.stringContaining('changed or moved') },
    { damaged: true, undecryptable: expect.stringContaining('"gone"') },
  ]
  const page = await store.list({ prefix: '/secrets/' })
  expect(page.refused ?? page.entries).toMatchObject(expected)
  const { events } = await nextBatch(watch)
  expect(events.map(({ entry }) => entry)).toMatchObject(expected)
  expect(await store.get('/secrets/default/b')).toMatchObject(expected[1]!)
})

test('a value that the driver reports as damaged stays so, and is not decrypted', async () => {
  const { inner, keys } = openPair()
  const broken: Store = {
    ...inner,
    get: async (key) => ({ ...(await inner.get(key))!, damaged: true }),
  }
  const store = encryptedStore(broken, { keys, prefixes: PREFIXES })
  await write(store, put(KEY, TEXT))
  const entry = await store.get(KEY)
  expect([entry?.damaged, entry?.undecryptable, isEncrypted(entry!.value)]).toEqual([
    true,
    undefined,
    true,
  ])
})

test('the first key encrypts from the moment that the keys are replaced, others decrypt', async () => {
  const { inner, keys, store } = openPair()
  await write(store, put(KEY, TEXT))
  keys.replace([testKey('b'), testKey('a')])
  await write(store, put('/secrets/default/b', 'new'))
  expect(keyNameOf(await storedAt(inner, '/secrets/default/b'))).toBe('b')
  const page = await store.list({ prefix: '/' })
  expect(page.refused ?? page.entries.map(({ value }) => String(value))).toEqual([TEXT, 'new'])
})

test('no file of an embedded store holds a confidential value, while it is open or after', async () => {
  const directory = newDirectory()
  const inner = await openEmbeddedStore({ directory })
  const keys = new Keyring([testKey('a')])
  const store = encryptedStore(inner, { keys, prefixes: PREFIXES })
  await write(store, put(KEY, TEXT), put('/configmaps/default/a', 'seen'))
  const holds = (text: string): boolean =>
    readdirSync(directory).some((name) => readFileSync(join(directory, name)).includes(text))
  expect([holds(TEXT), holds('seen')]).toEqual([false, true])
  await store.close()
  expect([holds(TEXT), holds('seen')]).toEqual([false, true])
})
