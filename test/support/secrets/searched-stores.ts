import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEtcd } from '../etcd/etcd-process.ts'
import type { OrchServerProcess } from '../orchserver/orch-server-process.ts'
import { runOrchServerCommand } from '../orchserver/run-command.ts'
import { filesUnder } from './audited-server.ts'

/** The store of a server, and everything that a thief could take of it. */
export interface SearchedStore extends AsyncDisposable {
  readonly flags: readonly string[]
  /** A backup of what is stored, while the server runs. */
  backup(server: OrchServerProcess): Promise<Buffer>
  /** Every file of the data directory and of the store, as they are at the moment. */
  files(server: OrchServerProcess): Promise<Buffer>
}

export const SEARCHED_STORES = { embedded: openEmbedded, etcd: openEtcd }

/** SQLite in the data directory. */
async function openEmbedded(): Promise<SearchedStore> {
  const folder = await mkdtemp(join(tmpdir(), 'np-searched-'))
  return {
    flags: [],
    async backup({ dataDir }) {
      await runOrchServerCommand('backup', join(folder, 'backup'), `--data-dir=${dataDir}`)
      return filesUnder(folder)
    },
    files: ({ dataDir }) => filesUnder(dataDir),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

/** A real etcd, with its log of writes and its database; its backup is a copy of both at one moment. */
async function openEtcd(): Promise<SearchedStore> {
  const folder = await mkdtemp(join(tmpdir(), 'np-searched-'))
  const etcd = await startEtcd()
  let copies = 0
  const copy = async (): Promise<Buffer> => {
    const path = join(folder, `copy-${copies++}`)
    await etcd.backUp(path)
    return filesUnder(path)
  }
  return {
    flags: [`--etcd-servers=${etcd.endpoint}`],
    backup: copy,
    files: async ({ dataDir }) => Buffer.concat([await filesUnder(dataDir), await copy()]),
    async [Symbol.asyncDispose]() {
      await etcd[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}
