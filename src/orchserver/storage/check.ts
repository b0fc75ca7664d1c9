import { statSync } from 'node:fs'
import { NodeProxyError, systemCode } from '../../lib/error.ts'
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

/** Entries that are read from etcd at once. */
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
  const isBackup = backup !== undefined
  refuseMissing(file, what, isBackup ? 'name a backup or a store' : 'check --data-dir')
  const { findings, entries } = inspectFile(file, examination.examine)
  return reportOf(what, { findings, entries, remarks: examination.remarks(), isBackup })
}

function refuseMissing(file: string, what: string, remedy: string): void {
  const why = unusable(file)
  if (why === undefined) return
  throw new NodeProxyError('NP_ORCHSERVER_CHECK', `${what} ${why}`, { object: file, hint: remedy })
}

/** Why something cannot be read as a file; undefined if it can. */
function unusable(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? undefined : 'is not a file'
  } catch (error) {
    const code = systemCode(error)
    return code === 'ENOENT' ? 'does not exist' : `cannot be read: ${code}`
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
    const { findings, entries } = await inspectStore(store, examine)
    const inspected = { findings, entries, remarks: remarks(), isBackup: false }
    return reportOf(`etcd under ${quote(etcd.prefix)}`, inspected)
  } finally {
    await store.close()
  }
}

async function inspectStore(store: Pick<Store, 'list' | 'revision'>, examine: Examine) {
  const findings: Finding[] = []
  const revision = await store.revision()
  let entries = 0
  for (let after: string | undefined; ; ) {
    const from = after === undefined ? {} : { after }
    const page = await store.list({ prefix: '/', limit: PAGE, revision, ...from })
    if (page.refused !== undefined) throw compactedError(revision)
    for (const entry of page.entries) {
      const cause = examine(entry)
      if (cause !== undefined) findings.push({ key: entry.key, cause })
    }
    entries += page.entries.length
    after = page.entries.at(-1)?.key
    if (page.remaining === 0) return { findings, entries }
  }
}

function compactedError(revision: number): NodeProxyError {
  return new NodeProxyError(
    'NP_ORCHSERVER_CHECK',
    `etcd forgot revision ${revision} while it was being read`,
    { hint: 'check again' },
  )
}

/** What was found in a store or backup. */
interface Inspected {
  readonly findings: readonly Finding[]
  readonly entries: number
  readonly remarks: readonly EncryptionRemark[]
  readonly isBackup: boolean
}

function reportOf(what: string, inspected: Inspected): CheckReport {
  const { findings, remarks } = inspected
  const isClean = findings.length === 0
  const summary = isClean ? intactText(what, inspected) : damageText(what, inspected)
  return {
    lines: [...findings.map(describeFinding), ...remarks.map(({ text }) => text), summary],
    isClean,
  }
}

function intactText(what: string, { entries, remarks }: Inspected): string {
  const unverified = remarks
    .filter(({ isVerified }) => !isVerified)
    .reduce((sum, { count }) => sum + count, 0)
  if (unverified === 0) return `${what} is intact: ${entries} entries can be read`
  const were = unverified === 1 ? 'was' : 'were'
  return `no damage was found in ${what}: ${unverified} of its ${entries} entries ${were} not verified`
}

function damageText(what: string, { findings, isBackup }: Inspected): string {
  const count = findings.length === 1 ? '1 finding' : `${findings.length} findings`
  const namesObjects = findings.every(({ key }) => key !== '')
  const ofStore = namesObjects
    ? 'delete the named objects (kubectl delete) while the server runs, or restore a backup'
    : 'restore a backup'
  return `${what} is damaged: ${count}; ${isBackup ? 'use another backup' : ofStore}`
}
