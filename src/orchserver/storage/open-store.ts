import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { follow } from '../../lib/regularly.ts'
import { belongTogether, certificateFault, keyFault } from '../../lib/tls/pem.ts'
import { createSoleCandidate, type Election } from '../../storage/election.ts'
import { currentFile } from '../../storage/embedded/store-file.ts'
import type { EtcdTls } from '../../storage/etcd/renewable-tls.ts'
import { compactRegularly } from '../../storage/regular-compaction.ts'
import type { Store } from '../../storage/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { EtcdConfiguration, OrchServerConfiguration } from '../config/configuration.ts'

/** Lease of the leader: how long no controllers write after their server crashed. */
const LEASE_SECONDS = 5

export interface OpenedStore {
  readonly store: Store
  /** The election among all servers of this store. */
  readonly election: Election
  /** Resolves with the reason when the store has failed and must be reopened. */
  readonly broken: Promise<Error>
  /** The data directory held no store, so this one is empty. Always false for a store in etcd. */
  readonly isNew: boolean
}

export interface StoreParts {
  readonly clock: Clock
  /** Receives failures of operations that are repeated. */
  readonly onError: (error: unknown) => void
  readonly log: Pick<Logger, 'info'>
}

/** Opens the configured store; only the driver that is used is loaded. */
export async function openStore(
  { dataDir, etcd }: OrchServerConfiguration,
  parts: StoreParts,
): Promise<OpenedStore> {
  if (etcd.servers.length > 0) return openEtcd(dataDir, etcd, parts)
  const isNew = !holdsStore(dataDir)
  const { openEmbeddedStore } = await import('../../storage/embedded/embedded-store.ts')
  const store = await openEmbeddedStore({ directory: dataDir })
  return { store, election: createSoleCandidate(), broken: store.broken, isNew }
}

function holdsStore(dataDir: string): boolean {
  const file = currentFile(dataDir)
  return existsSync(file) && statSync(file).size > 0
}

/** Opens a store in etcd. The data directory is locked here, too, because it holds certificates. */
async function openEtcd(
  dataDir: string,
  etcd: EtcdConfiguration,
  parts: StoreParts,
): Promise<OpenedStore> {
  const { createEtcdStore } = await import('../../storage/etcd/etcd-store.ts')
  const { lockDirectory } = await import('../../storage/embedded/directory-lock.ts')
  const tls = await readEtcdTls(etcd)
  const endpoints = etcd.servers
  using opened = new DisposableStack()
  const lock = lockDirectory(dataDir)
  opened.defer(() => lock.release())
  const isTls = Object.keys(tls).length > 0
  const store = createEtcdStore({ endpoints, prefix: etcd.prefix, ...(isTls && { tls }) })
  const onChange = (next: EtcdTls): void => {
    store.renewTls(next)
    parts.log.info('changed certificates for etcd were taken over, for new connections')
  }
  const stops = [
    compactRegularly({ store, ...parts }),
    follow({ ...parts, first: tls, read: () => readEtcdTls(etcd), onChange }),
  ]
  const held = opened.move()
  const close = async (): Promise<void> => {
    for (const stop of stops) stop()
    await store.close()
    held.dispose()
  }
  return {
    store: { ...store, close },
    election: store.election('controllers', LEASE_SECONDS),
    broken: Promise.withResolvers<Error>().promise,
    isNew: false,
  }
}

/**
 * The authority by which etcd is verified, and the client certificate of this server; absent if no file is
 * configured.
 * @throws NP_ORCHSERVER_ETCD_FILE
 */
export async function readEtcdTls(etcd: EtcdConfiguration): Promise<EtcdTls> {
  const { caFile, certFile, keyFile } = etcd
  const ca = caFile === '' ? {} : { ca: await read(caFile, certificateFault) }
  return certFile === '' ? ca : { ...ca, ...(await readPair(certFile, keyFile)) }
}

async function readPair(certFile: string, keyFile: string) {
  const cert = await read(certFile, certificateFault)
  const key = await read(keyFile, keyFault)
  if (belongTogether(cert.toString(), key.toString())) return { cert, key }
  throw unusable(certFile, `and ${keyFile} do not belong together`)
}

async function read(path: string, faultOf: (text: string) => string | undefined): Promise<Buffer> {
  const content = await readFile(path).catch((cause: unknown) => {
    throw unusable(path, `cannot be read: ${String(cause)}`, cause)
  })
  const fault = faultOf(content.toString())
  if (fault === undefined) return content
  throw unusable(path, fault)
}

function unusable(path: string, what: string, cause?: unknown): NodeProxyError {
  return new NodeProxyError('NP_ORCHSERVER_ETCD_FILE', `${path} ${what}`, {
    object: path,
    hint: 'check the file and its permissions (--etcd-cafile, --etcd-certfile, --etcd-keyfile)',
    cause,
  })
}
