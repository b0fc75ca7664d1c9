import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { createApiServer } from '../../apiserver/api-server.ts'
import { postTo } from '../../apiserver/testing/test-api.ts'
import { systemClock } from '../../lib/clock.ts'
import { completeConfiguration } from '../../settings/settings.ts'
import { writeBackup } from '../../storage/embedded/backup/backup.ts'
import { encryptValue } from '../../storage/encryption/encrypted-value.ts'
import type { EncryptionKey } from '../../storage/encryption/keyring.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'
import { readKeyFile } from '../encryption/key-file.ts'
import { keyLine } from '../encryption/testing/key-files.ts'
import { openEncryptedStore } from '../server.ts'
import { newFolder } from '../testing/new-folder.ts'
import { backUp, restore } from './backup.ts'
import { check } from './check.ts'
import { openStore } from './open-store.ts'

const PASSWORD = 'correct horse battery staple'
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined } as never
const PARTS = { clock: systemClock, onError: () => undefined, log: LOG }

function at(dataDir: string) {
  return { ...completeConfiguration(SETTINGS_TABLE, new Map()), dataDir }
}

const keysOf = (dataDir: string) => join(dataDir, 'pki', 'encryption.keys')

function manner(warn: (text: string) => void = () => undefined) {
  return { replace: true, warn }
}

/** A data directory with a Secret, whose server has ended, and a backup of it. */
async function withBackup() {
  const dataDir = newFolder()
  const { store } = await openEncryptedStore(at(dataDir), PARTS)
  const server = createApiServer({ store })
  const { url } = await server.listen()
  const secret = { metadata: { name: 'db' }, stringData: { password: PASSWORD } }
  await postTo(`${url}/api/v1/namespaces/default/secrets`, secret)
  const backup = join(newFolder(), 'backup')
  const said = await backUp(at(dataDir), backup)
  await server.close()
  await store.close()
  return { dataDir, backup, said }
}

/** Puts a value into the store as it is to be stored. */
async function putRaw(dataDir: string, value: Buffer, key = '/secrets/default/db'): Promise<void> {
  const { store } = await openStore(at(dataDir), PARTS)
  await store.txn({ compare: [], operations: [{ op: 'put', key, value }] })
  await store.close()
}

async function firstKey(dataDir: string): Promise<EncryptionKey> {
  return (await readKeyFile(keysOf(dataDir)))!.keys[0]
}

it('neither a backup nor the store holds a value of a Secret, or its Base64', async () => {
  const { dataDir, backup, said } = await withBackup()
  expect(said).toContain('2 values are encrypted with the key "key-')
  expect(said).toContain(`keep a copy of "${keysOf(dataDir)}" elsewhere`)
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name))
  expect(files.length).toBeGreaterThan(1)
  for (const file of [...files, backup]) {
    const bytes = readFileSync(file)
    for (const text of [PASSWORD, Buffer.from(PASSWORD).toString('base64')]) {
      expect([file, bytes.includes(text)]).toEqual([file, false])
    }
    if (file.endsWith('encryption.keys')) continue
    const key = (await firstKey(dataDir)).secret.export()
    const shown = [key, key.toString('base64')].some((form) => bytes.includes(form))
    expect([file, shown]).toEqual([file, false])
  }
})

it('check decrypts what is stored, in the store and in a backup', async () => {
  const { dataDir, backup } = await withBackup()
  for (const file of [undefined, backup]) {
    const { lines, isClean } = await check(at(dataDir), file)
    const what = file === undefined ? `the store of "${dataDir}"` : `the file "${file}"`
    expect([lines, isClean]).toEqual([
      [
        expect.stringMatching(/^2 values are encrypted with the key "key-[0-9a-f]{8}"$/),
        expect.stringMatching(`^${what} is intact: \\d+ entries can be read$`),
      ],
      true,
    ])
  }
})

it('check says what it could not verify without a key file', async () => {
  const { backup } = await withBackup()
  const elsewhere = newFolder()
  const { lines, isClean } = await check(at(elsewhere), backup)
  expect([lines, isClean]).toEqual([
    [
      expect.stringContaining(`were not verified: ${keysOf(elsewhere)} does not exist`),
      expect.stringMatching(
        `^no damage was found in the file "${backup}": 2 of its \\d+ entries were not verified$`,
      ),
    ],
    true,
  ])
})

it('check names what the keys at hand do not decrypt', async () => {
  const { dataDir, backup } = await withBackup()
  const { name } = await firstKey(dataDir)
  const elsewhere = newFolder()
  mkdirSync(dirname(keysOf(elsewhere)))
  for (const [line, cause] of [
    [keyLine('other'), 'which is not among the encryption keys'],
    [keyLine(name, 'other'), 'does not decrypt it'],
  ] as const) {
    writeFileSync(keysOf(elsewhere), line)
    const { lines, isClean } = await check(at(elsewhere), backup)
    expect([lines[0], isClean]).toEqual([expect.stringContaining(cause), false])
    expect(lines[0]).toContain('/secrets/default/db')
    expect(lines.at(-1)).toBe(`the file "${backup}" is damaged: 1 finding; use another backup`)
  }
})

it('check recommends a backup where a finding names no object', async () => {
  const dataDir = newFolder()
  writeFileSync(join(dataDir, 'store.sqlite'), 'no database')
  expect((await check(at(dataDir), undefined)).lines.at(-1)).toBe(
    `the store of "${dataDir}" is damaged: 1 finding; restore a backup`,
  )
})

it('check refuses a key file that cannot be used', async () => {
  const { dataDir } = await withBackup()
  appendFileSync(keysOf(dataDir), 'nonsense')
  await expect(check(at(dataDir), undefined)).rejects.toMatchObject({
    code: 'NP_ORCHSERVER_ENCRYPTION_FILE',
  })
})

it('check counts what an older version stored in clear', async () => {
  const { dataDir } = await withBackup()
  const clear = JSON.stringify({ metadata: { name: 'old', namespace: 'default' } })
  await putRaw(dataDir, Buffer.from(clear), '/secrets/default/old')
  expect((await check(at(dataDir), undefined)).lines).toContainEqual(
    expect.stringContaining('1 value is in clear'),
  )
})

it('what decrypts to no Secret is damaged: it is neither backed up nor restored', async () => {
  const { dataDir } = await withBackup()
  const key = await firstKey(dataDir)
  await putRaw(dataDir, encryptValue(key, '/secrets/default/db', Buffer.from('nonsense')))
  const { lines } = await check(at(dataDir), undefined)
  expect(lines[0]).toContain('not a JSON object')
  expect(lines.at(-1)).toBe(
    `the store of "${dataDir}" is damaged: 1 finding; delete the named objects (kubectl delete) while the server runs, or restore a backup`,
  )
  const file = join(newFolder(), 'backup')
  await expect(backUp(at(dataDir), file)).rejects.toMatchObject({ code: 'NP_STORAGE_CORRUPT' })
  await writeBackup(join(dataDir, 'store.sqlite'), file)
  await expect(restore(at(dataDir), file, manner())).rejects.toMatchObject({
    code: 'NP_STORAGE_CORRUPT',
  })
})

it('a backup can be made and restored without the key, with a warning, and is served with it', async () => {
  const { dataDir, backup } = await withBackup()
  const kept = join(newFolder(), 'keys')
  cpSync(keysOf(dataDir), kept)
  rmSync(keysOf(dataDir))
  expect(await backUp(at(dataDir), `${backup}-2`)).toContain('were not verified')
  const [fresh, warnings] = [newFolder(), [] as string[]]
  await restore(
    at(fresh),
    `${backup}-2`,
    manner((text) => warnings.push(text)),
  )
  expect(warnings).toEqual([expect.stringContaining('without which they are lost')])
  const code = 'NP_ORCHSERVER_ENCRYPTION_KEY'
  await expect(openEncryptedStore(at(fresh), PARTS)).rejects.toMatchObject({ code })
  const { store } = await openEncryptedStore({ ...at(fresh), encryption: { keyFile: kept } }, PARTS)
  const entry = await store.get('/secrets/default/db')
  expect(String(entry?.value)).toContain(Buffer.from(PASSWORD).toString('base64'))
  await store.close()
})

it('a restore into the same directory warns of nothing', async () => {
  const { dataDir, backup } = await withBackup()
  const warnings: string[] = []
  await restore(
    at(dataDir),
    backup,
    manner((text) => warnings.push(text)),
  )
  expect(warnings).toEqual([])
})

it('a backup can be restored beside keys of another store, with a warning', async () => {
  const { backup } = await withBackup()
  const [fresh, warnings] = [newFolder(), [] as string[]]
  mkdirSync(dirname(keysOf(fresh)))
  writeFileSync(keysOf(fresh), keyLine('other'))
  await restore(
    at(fresh),
    backup,
    manner((text) => warnings.push(text)),
  )
  expect(warnings).toEqual([expect.stringContaining(`${keysOf(fresh)} does not have it`)])
})
