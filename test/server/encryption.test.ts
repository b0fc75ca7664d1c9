import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { type ApiClient, createApiClient } from '../../src/client/http/api-client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { startEtcd } from '../support/etcd/etcd-process.ts'
import { hasEtcd } from '../support/etcd/has-etcd.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'
import { runOrchServerCommand } from '../support/orchserver/run-command.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const MAPS = '/api/v1/namespaces/default/configmaps'

function clientOf({ connection }: OrchServerProcess): ApiClient & AsyncDisposable {
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  return { ...client, [Symbol.asyncDispose]: () => client.close() }
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'np-encryption-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** What was written, and changed, and deleted: the passwords, and a text that is no secret. */
async function writeSecrets(server: OrchServerProcess) {
  await using client = clientOf(server)
  const passwords = Array.from({ length: 12 }, () => `password-${randomUUID()}`)
  const seen = `seen-${randomUUID()}`
  const results = await Promise.all(
    passwords.map((password, index) =>
      client.create(SECRETS, { metadata: { name: `s-${index}` }, stringData: { password } }),
    ),
  )
  const later = `password-${randomUUID()}`
  const change = { stringData: { password: later } }
  results.push(
    await client.patch(`${SECRETS}/s-1`, change, { type: 'application/merge-patch+json' }),
    await client.remove(`${SECRETS}/s-2`, {}),
    await client.create(MAPS, { metadata: { name: 'seen' }, data: { seen } }),
  )
  expect(results.filter(({ ok }) => !ok)).toEqual([])
  return { passwords: [...passwords, later], seen }
}

/** Of the texts, those that stand in a file of the folder, in clear or as Base64. */
function found(folder: string, texts: readonly string[]): readonly string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name)))
  return texts.filter((text) =>
    [text, Buffer.from(text).toString('base64')].some((form) =>
      files.some((bytes) => bytes.includes(form)),
    ),
  )
}

it('no file of the embedded store, and no backup, holds a value of a Secret', async () => {
  await using server = await startOrchServer()
  const { passwords, seen } = await writeSecrets(server)
  const backups = await newFolder()
  const where = `--data-dir=${server.dataDir}`
  await runOrchServerCommand('backup', join(backups, 'backup'), where)
  for (const folder of [server.dataDir, backups]) {
    expect(found(folder, [...passwords, seen])).toEqual([seen])
  }
  expect(readdirSync(server.dataDir)).toContain('store.sqlite-wal')
  await server.kill()
  expect(found(server.dataDir, [...passwords, seen])).toEqual([seen])
  await server.start()
  await using client = clientOf(server)
  const read = await client.get(`${SECRETS}/s-0`)
  expect(JSON.stringify(read)).toContain(Buffer.from(passwords[0]!).toString('base64'))
  expect(await server.stop()).toBe(0)
  expect(found(server.dataDir, [...passwords, seen])).toEqual([seen])
})

it.runIf(hasEtcd())(
  'nor does any file of etcd, and a server with other keys is refused',
  async () => {
    await using etcd = await startEtcd()
    const flags = [`--etcd-servers=${etcd.endpoint}`]
    await using server = await startOrchServer({ flags })
    const { passwords, seen } = await writeSecrets(server)
    const copy = join(await newFolder(), 'etcd')
    await etcd.backUp(copy)
    expect(found(copy, [...passwords, seen])).toEqual([seen])
    await using replica = await startOrchServer({ flags })
    await using client = clientOf(replica)
    const read = await client.get(`${SECRETS}/s-0`)
    expect(JSON.stringify(read)).toContain(Buffer.from(passwords[0]!).toString('base64'))
    const keys = join(await newFolder(), 'keys')
    await writeFile(keys, `other:${createHash('sha256').update('other').digest('base64')}`)
    const start = async (): Promise<void> => {
      await using _foreign = await startOrchServer({
        flags: [...flags, `--encryption-key-file=${keys}`],
      })
    }
    await expect(start()).rejects.toThrow('NP_ORCHSERVER_ENCRYPTION_KEY')
  },
)
