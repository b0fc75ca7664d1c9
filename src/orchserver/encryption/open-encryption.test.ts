import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { isEncrypted, keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import { createMemoryStore } from '../../storage/memory-store.ts'
import type { Store } from '../../storage/store.ts'
import { put, remove, write } from '../../storage/testing/conformance-steps.ts'
import { newFolder } from '../testing/new-folder.ts'
import { KEY_CHECK, openEncryption } from './open-encryption.ts'
import { keyLine } from './testing/key-files.ts'

const KEY = '/secrets/default/a'
const [A, B] = [keyLine('a'), keyLine('b')]

/** Several servers in turn, or at the same time, on one store that stays open. */
function server(inner: Store = createMemoryStore()) {
  const dataDir = newFolder()
  const made = join(dataDir, 'pki', 'encryption.keys')
  const records: { readonly level: string; readonly text: string; readonly fields: object }[] = []
  const record = (level: string) => (fields: object, text: string) =>
    void records.push({ level, text, fields })
  const log = { info: record('info'), warn: record('warn'), error: record('error') }
  const clock = new FakeClock()
  const open = async (keyFile = '') => {
    const store = await openEncryption(
      { ...inner, close: async () => undefined },
      { dataDir, encryption: { keyFile } },
      { clock, log: log as never },
    )
    onTestFinished(() => store.close())
    return store
  }
  return { inner, dataDir, made, records, clock, open }
}

function keyFile(...lines: readonly string[]): string {
  const path = join(newFolder(), 'keys')
  writeFileSync(path, lines.join('\n'), { mode: 0o600 })
  return path
}

const valueAt = async (store: Store, key: string) => (await store.get(key))!.value

it('makes a key for its user only, and uses it again', async () => {
  const { inner, made, open } = server()
  const first = await open()
  await write(first, put(KEY, 'text'), put('/configmaps/default/a', 'text'))
  const text = readFileSync(made, 'utf8')
  expect(statSync(made).mode & 0o777).toBe(0o600)
  expect(statSync(join(made, '..')).mode & 0o777).toBe(0o700)
  expect(isEncrypted(await valueAt(inner, KEY))).toBe(true)
  expect(String(await valueAt(inner, '/configmaps/default/a'))).toBe('text')
  await first.close()
  expect(String(await valueAt(await open(), KEY))).toBe('text')
  expect(readFileSync(made, 'utf8')).toBe(text)
  expect(text.split('\n')[1]).toContain(`${keyNameOf(await valueAt(inner, KEY))!}:`)
})

it('makes another key in each directory', async () => {
  const [one, other] = [server(), server()]
  await Promise.all([one.open(), other.open()])
  expect(readFileSync(one.made, 'utf8')).not.toBe(readFileSync(other.made, 'utf8'))
})

it('uses a file that is named, and makes none', async () => {
  const { inner, made, open } = server()
  const store = await open(keyFile(A))
  await write(store, put(KEY, 'text'))
  expect([keyNameOf(await valueAt(inner, KEY)), existsSync(made)]).toEqual(['a', false])
})

it.each([
  ['does not exist', undefined],
  ['line 1 has no name', 'nonsense'],
])('refuses a named file that %s', async (message, text) => {
  const { inner, made, open } = server()
  const path = join(newFolder(), 'keys')
  if (text !== undefined) writeFileSync(path, text)
  await expect(open(path)).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_ENCRYPTION_FILE',
    message: expect.stringContaining(message),
    object: path,
  })
  expect([await inner.revision(), existsSync(made)]).toEqual([0, false])
})

it('refuses a file that is a folder', async () => {
  const { open } = server()
  await expect(open(newFolder())).rejects.toMatchObject({ code: 'NP_ORCHSERVER_ENCRYPTION_FILE' })
})

it('refuses a store whose Secrets no key decrypts, and changes nothing', async () => {
  const { inner, open } = server()
  const first = await open(keyFile(A))
  await write(first, put(KEY, 'text'))
  await first.close()
  const revision = await inner.revision()
  for (const [line, message] of [
    [B, 'encrypted with the key "a", which is not among'],
    [keyLine('a', 'other'), 'another key of that name'],
  ] as const) {
    await expect(open(keyFile(line))).rejects.toMatchObject({
      code: 'NP_ORCHSERVER_ENCRYPTION_KEY',
      message: expect.stringContaining(message),
      hint: expect.stringContaining('a:lost'),
    })
  }
  expect(await inner.revision()).toBe(revision)
})

it('refuses them also where the key check is missing', async () => {
  const { inner, open } = server()
  const first = await open(keyFile(A))
  await write(first, put(KEY, 'text'), remove(KEY_CHECK))
  await first.close()
  const code = 'NP_ORCHSERVER_ENCRYPTION_KEY'
  await expect(open(keyFile(B))).rejects.toMatchObject({ code })
  expect(await inner.get(KEY_CHECK)).toBeUndefined()
})

it('makes no key for a store that needs another, such as one that was restored without it', async () => {
  const { made, open } = server()
  await (await open()).close()
  rmSync(made)
  await expect(open()).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_ENCRYPTION_KEY',
    message: expect.stringContaining('does not exist'),
  })
  expect(existsSync(made)).toBe(false)
})

it('refuses the second of two servers on one store with keys of their own, before there are Secrets', async () => {
  const one = server()
  const other = server(one.inner)
  await one.open()
  await expect(other.open()).rejects.toMatchObject({ code: 'NP_ORCHSERVER_ENCRYPTION_KEY' })
  const both = server()
  const together = await Promise.allSettled([
    both.open(keyFile(A)),
    server(both.inner).open(keyFile(B)),
  ])
  expect(together.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

it('starts while some Secrets can be decrypted, and the others are undecryptable', async () => {
  const { inner, open } = server()
  const other = server()
  await write(await other.open(keyFile(B)), put('/secrets/default/b', 'text'))
  const first = await open(keyFile(A))
  await write(first, put('/secrets/default/c', 'text'))
  await first.close()
  const value = await valueAt(other.inner, '/secrets/default/b')
  await write(inner, { op: 'put', key: '/secrets/default/b', value })
  const page = await (await open(keyFile(A))).list({ prefix: '/secrets/' })
  expect(page.refused ?? page.entries).toMatchObject([
    { undecryptable: expect.stringContaining('"b"') },
    { value: Buffer.from('text') },
  ])
})

it('gives up Secrets whose key is said to be lost, and starts', async () => {
  const { inner, open } = server()
  const first = await open(keyFile(A))
  await write(first, put(KEY, 'text'))
  await first.close()
  const store = await open(keyFile(B, 'a:lost'))
  expect(await store.get(KEY)).toMatchObject({ damaged: true })
  expect(keyNameOf(await valueAt(inner, KEY_CHECK))).toBe('b')
  await store.close()
  await (await open(keyFile(B))).close()
})

it('reads Secrets of an older version, and encrypts them in the background', async () => {
  const { inner, clock, records, open } = server()
  await write(inner, put(KEY, 'text'), put('/configmaps/default/a', 'text'))
  const store = await open()
  expect(String(await valueAt(store, KEY))).toBe('text')
  await clock.advance(20_000)
  expect(isEncrypted(await valueAt(inner, KEY))).toBe(true)
  expect(isEncrypted(await valueAt(inner, '/configmaps/default/a'))).toBe(false)
  expect(String(await valueAt(store, KEY))).toBe('text')
  expect(records).toContainEqual({
    level: 'info',
    text: 'all Secrets are encrypted with the first key',
    fields: { key: expect.any(String), rewritten: 1, undecryptable: 0 },
  })
})

it('warns of a file that others can read', async () => {
  const { records, open } = server()
  const path = keyFile(A)
  await (await open(path)).close()
  expect(records).toEqual([])
  chmodSync(path, 0o640)
  await open(path)
  expect(records).toMatchObject([{ level: 'warn', fields: { file: path } }])
})
