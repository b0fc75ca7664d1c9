import { readFile } from 'node:fs/promises'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Election } from '../../storage/election.ts'
import type { EtcdTls } from '../../storage/etcd/secure-channel.ts'
import { compactRegularly } from '../../storage/regular-compaction.ts'
import { createSoleCandidate } from '../../storage/sole-candidate.ts'
import type { Store } from '../../storage/store.ts'
import type { EtcdConfiguration, OrchServerConfiguration } from '../config/configuration.ts'

/** How long the controllers rest when their server died without a word. */
const LEASE_SECONDS = 5

export interface OpenedStore {
  readonly store: Store
  /** Among all servers of this store. */
  readonly election: Election
  /** Resolves when the store can only be opened anew, to the reason. */
  readonly broken: Promise<Error>
}

export interface StoreParts {
  readonly clock: Clock
  /** Told what failed and will be tried again. */
  readonly onError: (error: unknown) => void
}

/** The store of the configuration; only the driver that is used is loaded. */
export async function openStore(
  { dataDir, etcd }: OrchServerConfiguration,
  parts: StoreParts,
): Promise<OpenedStore> {
  if (etcd.servers.length > 0) return openEtcd(dataDir, etcd, parts)
  const { openEmbeddedStore } = await import('../../storage/embedded/embedded-store.ts')
  const store = await openEmbeddedStore({ directory: dataDir })
  return { store, election: createSoleCandidate(), broken: store.broken }
}

/** Certificates lie in the data directory also here, so one process holds it all the same. */
async function openEtcd(
  dataDir: string,
  etcd: EtcdConfiguration,
  parts: StoreParts,
): Promise<OpenedStore> {
  const { createEtcdStore } = await import('../../storage/etcd/etcd-store.ts')
  const { lockDirectory } = await import('../../storage/embedded/directory-lock.ts')
  const tls = await readTls(etcd)
  const endpoints = etcd.servers
  using opened = new DisposableStack()
  const lock = lockDirectory(dataDir)
  opened.defer(() => lock.release())
  const store = createEtcdStore({ endpoints, prefix: etcd.prefix, ...(tls && { tls }) })
  const stopCompacting = compactRegularly({ store, ...parts })
  const held = opened.move()
  const close = async (): Promise<void> => {
    stopCompacting()
    await store.close()
    held.dispose()
  }
  return {
    store: { ...store, close },
    election: store.election('controllers', LEASE_SECONDS),
    broken: Promise.withResolvers<Error>().promise,
  }
}

async function readTls({ caFile, certFile, keyFile }: EtcdConfiguration) {
  const tls: EtcdTls = {
    ...(caFile !== '' && { ca: await read(caFile) }),
    ...(certFile !== '' && { cert: await read(certFile), key: await read(keyFile) }),
  }
  return Object.keys(tls).length === 0 ? undefined : tls
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw new NodeProxyError('NP_ORCHSERVER_ETCD_FILE', `cannot read ${path}: ${String(cause)}`, {
      object: path,
      hint: 'check the path and the permissions of the file',
      cause,
    })
  }
}
