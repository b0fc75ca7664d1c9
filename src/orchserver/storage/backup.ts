import { existsSync, lchownSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { writeBackup } from '../../storage/embedded/backup/backup.ts'
import { restoreEmbeddedStore } from '../../storage/embedded/backup/restore.ts'
import { currentFile, storeFiles } from '../../storage/embedded/store-file.ts'
import { refuseTruncatedWalAtRest } from '../../storage/embedded/truncated-wal.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { type EncryptedExamination, examineEncrypted } from '../encryption/examine-encrypted.ts'
import { keyFilePath, readKeyFile } from '../encryption/key-file.ts'

/** The files of the store, of one that is being restored, and of the lock, with those that SQLite keeps beside them. */
const OF_THE_STORE = /^(?:store\.sqlite|restored\.sqlite|lock)/

type Where = Pick<OrchServerConfiguration, 'dataDir' | 'etcd' | 'encryption'>

/**
 * Copies a consistent snapshot of the embedded store to a new file. The server may run meanwhile. Returns a
 * sentence for the operator.
 * @throws NP_ORCHSERVER_BACKUP, NP_STORAGE_…
 */
export async function backUp(where: Where, file: string): Promise<string> {
  refuseEtcd(where, 'etcdctl snapshot save')
  const store = currentFile(where.dataDir)
  if (!existsSync(store)) throw refusal(where.dataDir, 'holds no store', 'check --data-dir')
  if (existsSync(file)) throw refusal(file, 'exists', 'name a new file, or remove this one')
  refuseTruncatedWalAtRest(store)
  const { examine, remarks } = await examinationFor(where)
  await writeBackup(store, file, examine)
  const keyFile = quote(keyFilePath(where))
  const found = remarks().map(({ text }) => ` ${text}.`)
  return `wrote ${file}: the store of ${where.dataDir}, with Secrets encrypted. It holds neither their keys nor certificates: keep a copy of ${keyFile} elsewhere.${found.join('')}`
}

/** Values whose key is not known are copied as they are. */
async function examinationFor(where: Where): Promise<EncryptedExamination> {
  const path = keyFilePath(where)
  return examineEncrypted({ path, file: await readKeyFile(path), needsEachKey: false })
}

export interface RestoreManner {
  /** Whether an existing store is replaced. */
  readonly replace: boolean
  readonly warn: (text: string) => void
}

/**
 * Makes a backup the store of the data directory, which no server may be using. The store then belongs to the
 * owner of that directory, whichever user restores. Returns a sentence for the operator.
 * @throws NP_ORCHSERVER_BACKUP, NP_STORAGE_…
 */
export async function restore(
  where: Where,
  file: string,
  { replace, warn }: RestoreManner,
): Promise<string> {
  const { dataDir } = where
  refuseEtcd(where, 'etcdutl snapshot restore')
  if (!existsSync(file)) throw refusal(file, 'does not exist', 'name a backup')
  if (!statSync(file).isFile()) throw refusal(file, 'is not a regular file', 'name a backup')
  if (!replace && existsSync(storeFiles(dataDir).store)) {
    throw refusal(
      dataDir,
      'holds a store',
      'write --replace to lose it, or choose another --data-dir',
    )
  }
  const { examine, remarks } = await examinationFor(where)
  const { revision, isVerified } = await restoreEmbeddedStore({
    from: file,
    directory: dataDir,
    examine,
  }).finally(() => giveToOwner(dataDir))
  if (!isVerified) {
    warn(
      `warning: ${quote(file)} has no checksum of its content, because an older version wrote it: every object in it was read, but it could not be verified that they are what was backed up`,
    )
  }
  for (const { text, isVerified } of remarks()) if (!isVerified) warn(`warning: ${text}`)
  return `restored ${file} to ${dataDir}. The store continues at revision ${revision}; clients will list everything again.`
}

function refuseEtcd({ etcd }: Where, instead: string): void {
  if (etcd.servers.length === 0) return
  throw refusal('--etcd-servers', 'keeps the store in etcd', `use ${instead}`)
}

function refusal(object: string, what: string, hint: string): NodeProxyError {
  return new NodeProxyError('NP_ORCHSERVER_BACKUP', `${object} ${what}`, { object, hint })
}

/**
 * Changes the owner of the files of the store to that of the data directory, so that an unprivileged server can
 * open a store that root restored. Only root may change owners, and only root needs to.
 */
function giveToOwner(dataDir: string): void {
  if (process.getuid?.() !== 0 || !existsSync(dataDir)) return
  const { uid, gid } = statSync(dataDir)
  const names = readdirSync(dataDir).filter((name) => OF_THE_STORE.test(name))
  for (const name of names) lchownSync(join(dataDir, name), uid, gid)
}
