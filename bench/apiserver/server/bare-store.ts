import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { openEmbeddedStore } from '../../../src/storage/embedded/embedded-store.ts'
import { createEtcdStore } from '../../../src/storage/etcd/etcd-store.ts'
import type { Store } from '../../../src/storage/store.ts'
import type { MeasuredServer } from './server.ts'

/** The driver of the store without a server: on another file of the same disk, or other keys of the same etcd. */
export async function openBareStore({
  server: { etcd },
  folder,
}: {
  readonly server: MeasuredServer
  readonly folder: string
}): Promise<Pick<Store, 'txn'> & AsyncDisposable> {
  const store =
    etcd === undefined
      ? await openEmbeddedStore({ directory: await mkdtemp(join(folder, 'store-')) })
      : createEtcdStore({ endpoints: [etcd], prefix: '/bench' })
  return {
    txn: (transaction) => store.txn(transaction),
    [Symbol.asyncDispose]: () => store.close(),
  }
}
