import { chownSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openEmbeddedStore } from '../../storage/embedded/embedded-store.ts'
import { newFolder } from '../testing/new-folder.ts'
import { backUp, restore } from './backup.ts'

const ETCD = {
  servers: ['http://127.0.0.1:2379'],
  caFile: '',
  certFile: '',
  keyFile: '',
  prefix: '/',
}

function at(dataDir: string, etcd = { ...ETCD, servers: [] as readonly string[] }) {
  return { dataDir, etcd, encryption: { keyFile: '' } }
}

function manner(replace: boolean) {
  return { replace, warn: () => undefined }
}

function put(key: string) {
  const operations = [{ op: 'put', key, value: Buffer.from(key) }] as const
  return { compare: [], operations }
}

async function keys(directory: string): Promise<readonly string[]> {
  const store = await openEmbeddedStore({ directory })
  const listed = await store.list({ prefix: '' })
  await store.close()
  return 'entries' in listed ? listed.entries.map(({ key }) => key) : []
}

describe('backup and restore', () => {
  it('copy the store of a server that runs, and take it back', async () => {
    const [directory, other] = [newFolder(), newFolder()]
    const file = join(other, 'backup')
    const store = await openEmbeddedStore({ directory })
    await store.txn(put('/a'))
    expect(await backUp(at(directory), file)).toMatch(/^wrote .*Secrets/)
    const { revision } = await store.txn(put('/b'))
    await expect(restore(at(directory), file, manner(true))).rejects.toMatchObject({
      code: 'NP_STORAGE_LOCKED',
    })
    await store.close()
    const recorded = await restore(at(directory), file, manner(true))
    expect(Number(/revision (\d+)/.exec(recorded)?.[1])).toBeGreaterThan(revision)
    expect(await keys(directory)).toEqual(['/a'])
  })

  it('never write over what is there', async () => {
    const [directory, folder] = [newFolder(), newFolder()]
    await keys(directory)
    const file = join(folder, 'backup')
    await backUp(at(directory), file)
    const refused = { code: 'NP_ORCHSERVER_BACKUP' }
    await expect(backUp(at(directory), file)).rejects.toMatchObject({ ...refused, object: file })
    await expect(restore(at(directory), file, manner(false))).rejects.toMatchObject({
      ...refused,
      hint: expect.stringContaining('--replace'),
    })
    await restore(at(join(folder, 'new')), file, manner(false))
    expect(existsSync(join(folder, 'new'))).toBe(true)
  })

  it.runIf(process.getuid?.() === 0)('as root: the store is that of the owner', async () => {
    const [directory, folder] = [newFolder(), newFolder()]
    await keys(directory)
    await backUp(at(directory), join(folder, 'backup'))
    chownSync(folder, 65_534, 65_533)
    await restore(at(folder), join(folder, 'backup'), manner(false))
    const names = readdirSync(folder).filter((name) => name !== 'backup')
    expect(names).toEqual(expect.arrayContaining(['lock', 'store.sqlite']))
    for (const name of names) {
      expect(statSync(join(folder, name))).toMatchObject({ uid: 65_534, gid: 65_533 })
    }
  })

  it('refuse what is not there, and what is no backup', async () => {
    const folder = newFolder()
    const file = join(folder, 'text')
    const code = 'NP_ORCHSERVER_BACKUP'
    await expect(backUp(at(folder), file)).rejects.toMatchObject({ code, object: folder })
    await expect(restore(at(folder), file, manner(false))).rejects.toMatchObject({
      code,
      object: file,
    })
    await expect(restore(at(folder), folder, manner(false))).rejects.toMatchObject({
      code,
      object: folder,
    })
    writeFileSync(file, 'a text that is no database, and long enough to be looked at as one')
    await expect(restore(at(folder), file, manner(false))).rejects.toMatchObject({
      code: expect.stringMatching(/^NP_STORAGE_/),
    })
  })

  it('are not for a store in etcd', async () => {
    const where = at(newFolder(), ETCD)
    const hint = expect.stringContaining('etcd')
    await expect(backUp(where, '/x')).rejects.toMatchObject({ hint })
    await expect(restore(where, '/x', manner(true))).rejects.toMatchObject({ hint })
  })
})
