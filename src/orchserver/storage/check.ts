import { existsSync, statSync } from 'node:fs'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import {
  describeFinding,
  type Examine,
  type Finding,
  inspectFile,
} from '../../storage/embedded/backup/inspect.ts'
import { currentFile } from '../../storage/embedded/store-file.ts'
import type { Store } from '../../storage/store.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import {
  type EncryptedExamination,
  type EncryptionRemark,
  examineEncrypted,
} from '../encryption/examine-encrypted.ts'
import { keyFilePath, readKeyFile } from '../encryption/key-file.ts'
import { readEtcdTls } from './open-store.ts'

/** Where the store and the keys of its encryption are. */
type StoreLocation = Pick<OrchServerConfiguration, 'dataDir' | 'etcd' | 'encryption'>

export interface CheckReport {
  /** A line for each finding, the remarks about encryption, then a summary. */
  readonly lines: readonly string[]
  readonly isClean: boolean
}

/** Keys that are read from etcd at once. */
const PAGE = 500

/**
 * Names everything that is damaged in a backup or, without one, in the configured store. Changes nothing,
 * and a server may run meanwhile. Secrets are decrypted if there is a key file; otherwise a remark says that
 * their content was not verified.
 * @throws NP_ORCHSERVER_CHECK when there is no store or backup, or when etcd compacts what is being read;
 *   NP_ORCHSERVER_ENCRYPTION_FILE, NP_STORAGE_…
 */
export async function check(
  location: StoreLocation,
  backup: string | undefined,
): Promise<CheckReport> {
  const path = keyFilePath(location)
  const examination = examineEncrypted({ path, file: await readKeyFile(path), needsEachKey: true })
  const { dataDir, etcd } = location
  if (backup === undefined && etcd.servers.length > 0) return checkEtcd(etcd, examination)
  const file = backup ?? currentFile(dataDir)
  const what = backup === undefined ? `the store of ${quote(dataDir)}` : `the file ${quote(backup)}`
  const remedy = backup === undefined ? 'check --data-dir' : 'name a backup or a store'
  refuseMissing(file, what, remedy)
  const { findings, keys } = inspectFile(file, examination.examine)
  return reportOf(what, { findings, keys, remarks: examination.remarks() })
}

function refuseMissing(file: string, what: string, remedy: string): void {
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new NodeProxyError('NP_ORCHSERVER_CHECK', `${what} does not exist`, {
      object: file,
      hint: remedy,
    })
  }
}

async function checkEtcd(
  etcd: StoreLocation['etcd'],
  { examine, remarks }: EncryptedExamination,
): Promise<CheckReport> {
  const { createEtcdStore } = await import('../../storage/etcd/etcd-store.ts')
  const tls = await readEtcdTls(etcd)
  const isTls = Object.keys(tls).length > 0
  const store = createEtcdStore({
    endpoints: etcd.servers,
    prefix: etcd.prefix,
    ...(isTls && { tls }),
  })
  try {
    const { findings, keys } = await inspectStore(store, examine)
    return reportOf(`etcd under ${quote(etcd.prefix)}`, { findings, keys, remarks: remarks() })
  } finally {
    await store.close()
  }
}

async function inspectStore(store: Pick<Store, 'list' | 'revision'>, examine: Examine) {
  const findings: Finding[] = []
  const revision = await store.revision()
  let keys = 0
  for (let after: string | undefined; ; ) {
    const from = after === undefined ? {} : { after }
    const page = await store.list({ prefix: '/', limit: PAGE, revision, ...from })
    if (page.refused !== undefined) throw compactedError(revision)
    for (const entry of page.entries) {
      const cause = examine(entry)
      if (cause !== undefined) findings.push({ key: entry.key, cause })
    }
    keys += page.entries.length
    after = page.entries.at(-1)?.key
    if (page.remaining === 0) return { findings, keys }
  }
}

function compactedError(revision: number): NodeProxyError {
  return new NodeProxyError(
    'NP_ORCHSERVER_CHECK',
    `etcd forgot revision ${revision} while it was being read`,
    { hint: 'check again' },
  )
}

/** What was found in a store. */
interface Inspected {
  readonly findings: readonly Finding[]
  readonly keys: number
  readonly remarks: readonly EncryptionRemark[]
}

function reportOf(what: string, { findings, keys, remarks }: Inspected): CheckReport {
  const isClean = findings.length === 0
  const summary = isClean
    ? `${what} is intact: ${keys} keys can be read`
    : `${what} is damaged: ${findings.length} findings; the named objects can be deleted (kubectl delete) while the server runs; otherwise restore a backup`
  return {
    lines: [...findings.map(describeFinding), ...remarks.map(({ text }) => text), summary],
    isClean,
  }
}
