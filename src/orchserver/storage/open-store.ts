import { readFile } from 'node:fs/promises'
import { NodeProxyError } from '../../lib/error.ts'
import type { Election } from '../../storage/election.ts'
import type { EtcdTls } from '../../storage/etcd/secure-channel.ts'
import { createSoleCandidate } from '../../storage/sole-candidate.ts'
import type { Store } from '../../storage/store.ts'
import type { EtcdConfiguration, OrchServerConfiguration } from '../config/configuration.ts'

/** How long the controllers rest when their server died without a word. */
const LEASE_SECONDS = 5

export interface OpenedStore {
  readonly store: Store
  /** Among all servers of this store. */
  readonly election: Election
}

/** The store of the configuration; only the driver that is used is loaded. */
export async function openStore({ dataDir, etcd }: OrchServerConfiguration): Promise<OpenedStore> {
  if (etcd.servers.length > 0) return openEtcd(dataDir, etcd)
  const { openEmbeddedStore } = await import('../../storage/embedded/embedded-store.ts')
  return { store: await openEmbeddedStore({ directory: dataDir }), election: createSoleCandidate() }
}

/** Certificates lie in the data directory also here, so one process holds it all the same. */
async function openEtcd(dataDir: string, etcd: EtcdConfiguration): Promise<OpenedStore> {
  const { createEtcdStore } = await import('../../storage/etcd/etcd-store.ts')
  const { lockDirectory } = await import('../../storage/embedded/directory-lock.ts')
  const tls = await readTls(etcd)
  const endpoints = etcd.servers
  using opened = new DisposableStack()
  const lock = lockDirectory(dataDir)
  opened.defer(() => lock.release())
  const store = createEtcdStore({ endpoints, prefix: etcd.prefix, ...(tls && { tls }) })
  const held = opened.move()
  const close = async (): Promise<void> => {
    await store.close()
    held.dispose()
  }
  return { store: { ...store, close }, election: store.election('controllers', LEASE_SECONDS) }
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
