import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EtcdProcess, startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../../test/support/etcd/has-etcd.ts'
import { encryptedStore } from '../encryption/encrypted-store.ts'
import { Keyring } from '../encryption/keyring.ts'
import { testKey } from '../encryption/testing/test-keys.ts'
import type { Store } from '../store.ts'
import { describeStore } from '../testing/conformance.ts'
import { put, write } from '../testing/conformance-steps.ts'
import { createEtcdStore } from './etcd-store.ts'

describe.runIf(hasEtcd())('on a real etcd', () => {
  let etcd: EtcdProcess
  beforeAll(async () => {
    etcd = await startEtcd()
  })
  afterAll(() => etcd[Symbol.asyncDispose]())

  const open = (prefix = `/${randomUUID()}`): Store =>
    createEtcdStore({ endpoints: [etcd.endpoint], prefix })

  describeStore('etcd', async () => beside(open(), open()))

  const encryption = { keys: new Keyring([testKey('a')]), prefixes: ['/'] }
  describeStore('encrypted etcd', async () => encryptedStore(open(), encryption))

  it('begins above a compaction that went beyond its last change, as after a restore', async () => {
    const prefix = `/${randomUUID()}`
    const [store, other] = [open(prefix), open()]
    const last = await write(store, put('/a', 'x'))
    for (let revisions = 0; revisions < 5; revisions++) await write(other, put('/a', 'x'))
    const compacted = await other.revision()
    await other.compact(compacted)
    const restarted = open(prefix)
    expect(await store.revision()).toBe(last)
    expect(await restarted.revision()).toBe(compacted + 1)
    expect(await store.revision()).toBe(compacted + 1)
    const watch = restarted.watch({ prefix: '', after: last })
    expect(await watch.next()).toMatchObject({ value: { events: [], revision: compacted + 1 } })
    await watch.return?.()
    for (const one of [store, other, restarted]) await one.close()
  })
})

/** A store in whose etcd another client writes before every step. */
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
