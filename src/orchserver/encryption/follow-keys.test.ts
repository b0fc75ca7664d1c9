import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import { createMemoryStore } from '../../storage/memory-store.ts'
import type { Store } from '../../storage/store.ts'
import { put, write } from '../../storage/testing/conformance-steps.ts'
import { newFolder } from '../testing/new-folder.ts'
import { openEncryption } from './open-encryption.ts'
import { keyLine } from './testing/key-files.ts'

const KEY = '/secrets/default/a'
const [A, B] = [keyLine('a'), keyLine('b')]

/** A server that runs with these keys. */
async function running(lines: readonly string[], inner: Store = createMemoryStore()) {
  const keyFile = join(newFolder(), 'keys')
  const clock = new FakeClock()
  const records: { readonly level: string; readonly text: string; readonly fields: object }[] = []
  let recorded = (): void => undefined
  const record = (level: string) => (fields: object, text: string) => {
    records.push({ level, text, fields })
    recorded()
  }
  const log = { info: record('info'), warn: record('warn'), error: record('error') }
  /** At once: a round that is just reading the file gets the one or the other. */
  const edit = (...next: readonly string[]): void => {
    writeFileSync(`${keyFile}.next`, next.join('\n'), { mode: 0o600 })
    renameSync(`${keyFile}.next`, keyFile)
  }
  edit(...lines)
  const store = await openEncryption(
    { ...inner, close: async () => undefined },
    { dataDir: newFolder(), encryption: { keyFile } },
    { clock, log: log as never },
  )
  onTestFinished(() => store.close())
  await clock.advance(0)
  /** Lets the ten seconds pass after which the file is read, until the next record. */
  const look = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    recorded = resolve
    // A round that reads the file has no timer: time would pass before its next one.
    await expect.poll(() => clock.pending()).not.toEqual([])
    await clock.advance(10_000)
    await promise
    await setImmediate()
  }
  return { inner, store, keyFile, clock, records, edit, look }
}

const storedName = async (inner: Store, key = KEY) => keyNameOf((await inner.get(key))!.value)

it('a new first key is taken over while running: it encrypts, and what is stored is rewritten', async () => {
  const { inner, store, clock, records, edit, look } = await running([A])
  await write(store, put(KEY, 'text'))
  edit(B, A)
  await look()
  expect(records.at(-1)).toMatchObject({ level: 'info', fields: { key: 'b' } })
  await write(store, put('/secrets/default/new', 'text'))
  expect([await storedName(inner, '/secrets/default/new'), await storedName(inner)]).toEqual([
    'b',
    'a',
  ])
  await clock.advance(60_000)
  expect(await storedName(inner)).toBe('b')
  expect(records.at(-1)).toEqual({
    level: 'info',
    text: 'all Secrets are encrypted with the first key',
    fields: { key: 'b', rewritten: 3, undecryptable: 0 },
  })
  expect(String((await store.get(KEY))?.value)).toBe('text')
})

it('a key that is removed at once with the change is used until nothing needs it', async () => {
  const { inner, store, clock, records, edit, look } = await running([A])
  await write(store, put(KEY, 'text'))
  edit(B)
  await look()
  expect(String((await store.get(KEY))?.value)).toBe('text')
  await clock.advance(60_000)
  expect([await storedName(inner), String((await store.get(KEY))?.value)]).toEqual(['b', 'text'])
  const late = (await inner.get(KEY))!.value
  edit(keyLine('c'))
  await look()
  await clock.advance(60_000)
  expect(records.at(-1)).toMatchObject({ fields: { key: 'c', rewritten: 2 } })
  await write(inner, { op: 'put', key: KEY, value: late })
  expect(await store.get(KEY)).toMatchObject({ undecryptable: expect.stringContaining('"b"') })
})

it('a key that is put back makes its values readable, and they are written so that caches see it', async () => {
  const first = await running([B])
  await write(first.store, put('/secrets/default/b', 'text'))
  const foreign = await running([A])
  await write(foreign.store, put(KEY, 'text'))
  await write(first.inner, { op: 'put', key: KEY, value: (await foreign.inner.get(KEY))!.value })
  const { store, clock, edit, look } = first
  expect(await store.get(KEY)).toMatchObject({ undecryptable: expect.any(String) })
  const watch = store.watch({ prefix: KEY, after: await store.revision() })
  const event = watch.next()
  edit(A, B)
  await look()
  await clock.advance(60_000)
  const { value } = await event
  expect(value?.refused ?? value?.events).toMatchObject([
    { key: KEY, entry: { value: Buffer.from('text') } },
  ])
  await watch.return?.()
})

it.each<readonly [string, string, (path: string, edit: (line: string) => void) => void]>([
  ['is gone', 'does not exist', (path) => rmSync(path)],
  ['is half written', 'line 1 has a key that is not 32 bytes', (_, edit) => edit(B.slice(0, 30))],
  ['is empty', 'has no key', (_, edit) => edit('')],
  ['has other bytes', 'another key under the name "a"', (_, edit) => edit(keyLine('a', 'x'))],
])(
  'a file that %s changes nothing, and is an error with the file and the remedy',
  async (_what, message, harm) => {
    const { inner, store, keyFile, clock, records, edit, look } = await running([A])
    await write(store, put(KEY, 'text'))
    harm(keyFile, edit)
    await look()
    expect(records).toEqual([
      {
        level: 'error',
        text: 'the encryption keys could not be read again; those in use stay',
        fields: {
          err: expect.objectContaining({
            code: 'NP_ORCHSERVER_ENCRYPTION_FILE',
            message: expect.stringContaining(message),
            object: keyFile,
            hint: expect.any(String),
          }),
        },
      },
    ])
    expect(JSON.stringify(records)).not.toContain(B.slice(5, 25))
    await write(store, put('/secrets/default/b', 'text'))
    expect(await storedName(inner, '/secrets/default/b')).toBe('a')
    edit(B, A)
    await look()
    await clock.advance(60_000)
    expect(await storedName(inner)).toBe('b')
  },
)

it('what cannot be decrypted is reported, and all else is rewritten', async () => {
  const { inner, store, clock, records, edit, look } = await running([A])
  const foreign = await running([keyLine('x')])
  await write(foreign.store, put('/secrets/default/x', 'text'))
  const value = (await foreign.inner.get('/secrets/default/x'))!.value
  await write(store, put(KEY, 'text'))
  await write(inner, { op: 'put', key: '/secrets/default/x', value })
  edit(B, A)
  await look()
  await clock.advance(60_000)
  expect(records.at(-1)).toMatchObject({
    level: 'warn',
    fields: { key: 'b', rewritten: 2, undecryptable: 1 },
  })
})

it('a store that fails is tried again', async () => {
  const memory = createMemoryStore()
  let failures = 2
  const inner: Store = {
    ...memory,
    txn: async (transaction) => {
      const isRewrite = transaction.compare[0]?.key === KEY
      if (isRewrite && failures-- > 0) throw new Error('away')
      return memory.txn(transaction)
    },
  }
  await write(memory, put(KEY, 'text'))
  const { clock, records } = await running([A], inner)
  await clock.advance(60_000)
  expect([await storedName(memory), records[0]?.level]).toEqual(['a', 'warn'])
})

it('closing ends what runs', async () => {
  const inner = createMemoryStore()
  await write(inner, put(KEY, 'text'))
  const { store, clock, records } = await running([A], inner)
  expect(clock.pending()).toEqual([10_000, 10_000])
  await store.close()
  expect([clock.pending(), records]).toEqual([[], []])
})
