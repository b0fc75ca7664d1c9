import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { type EtcdProcess, startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../../test/support/etcd/has-etcd.ts'
import { describeStore } from '../conformance.ts'
import { put, write } from '../conformance-steps.ts'
import type { Store } from '../store.ts'
import { createEtcdStore } from './etcd-store.ts'

describe.runIf(hasEtcd())('on a real etcd', () => {
  let etcd: EtcdProcess
  beforeAll(async () => {
    etcd = await startEtcd()
  })
  afterAll(() => etcd[Symbol.asyncDispose]())

  const open = (): Store =>
    createEtcdStore({ endpoints: [etcd.endpoint], prefix: `/${randomUUID()}` })

  describeStore('etcd', async () => beside(open(), open()))
})

/** A store in whose etcd somebody else writes before every step. */
function beside(store: Store, other: Store): Store {
  const disturb = (): Promise<number> => write(other, put('/a', 'x'))
  return {
    revision: () => disturb().then(() => store.revision()),
    get: (key) => disturb().then(() => store.get(key)),
    list: (query) => disturb().then(() => store.list(query)),
    txn: (transaction) => disturb().then(() => store.txn(transaction)),
    watch: (query) => store.watch(query),
    compact: (revision) => disturb().then(() => store.compact(revision)),
    close: async () => {
      await store.close()
      await other.close()
    },
  }
}
