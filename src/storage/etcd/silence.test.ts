import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type EtcdProcess, startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../../test/support/etcd/has-etcd.ts'
import { startRelay } from '../../../test/support/etcd/relay.ts'
import { nextBatch, put, write } from '../testing/conformance-steps.ts'
import { EndpointPool } from './endpoint-pool.ts'
import { createEtcdStore } from './etcd-store.ts'
import { beginningAt } from './testing/fixtures.ts'

/** Shorter than it takes a connection to notice by itself that its peer is gone. */
const SOON = { timeout: 6000 }

describe.runIf(hasEtcd())('of two endpoints one falls silent, and', () => {
  let etcd: EtcdProcess
  beforeAll(async () => {
    etcd = await startEtcd()
  })
  afterAll(() => etcd[Symbol.asyncDispose]())

  async function open(options: { readonly timeoutMs: number }) {
    await using opened = new AsyncDisposableStack()
    const relay = opened.use(await startRelay(etcd.endpoint))
    const endpoints = [relay.endpoint, etcd.endpoint]
    const store = createEtcdStore({ endpoints, ...options, ...beginningAt(0) })
    opened.defer(() => store.close())
    const held = opened.move()
    return { ...store, ...relay, [Symbol.asyncDispose]: () => held.disposeAsync() }
  }

  test('one unanswered call takes watches along to the other', SOON, async () => {
    await using store = await open({ timeoutMs: 1000 })
    const watch = store.watch({ prefix: '/', after: await write(store, put('/a', '1')) })
    const next = nextBatch(watch)
    await store.txn({ compare: [], operations: [] })
    store.fallSilent()
    await expect(write(store, put('/a', '2'))).rejects.toMatchObject({
      code: 'NP_STORAGE_UNKNOWN_OUTCOME',
    })
    const revision = await write(store, put('/a', '3'))
    expect(await next).toMatchObject({ events: [{ key: '/a' }], revision })
  })

  test('a leader goes on leading, and takes reads along', SOON, async () => {
    await using store = await open({ timeoutMs: 10_000 })
    const { lost, resign } = await store.election('some', 2).campaign('one')
    const later = once(AbortSignal.timeout(3000), 'abort')
    store.fallSilent()
    await store.get('/a')
    await later
    expect(lost.aborted).toBe(false)
    await resign()
  })

  test('a list that requests the start of history is answered by the other', SOON, async () => {
    await using store = await open({ timeoutMs: 1000 })
    const first = await write(store, put('/a', '1'))
    const last = await write(store, put('/a', '2'))
    await store.compact(last)
    const original = EndpointPool.prototype.departure
    const departure = vi.spyOn(EndpointPool.prototype, 'departure')
    departure.mockImplementation(function (this: EndpointPool, client) {
      if (departure.mock.calls.length === 2) store.fallSilent()
      return original.call(this, client)
    })
    expect(await store.list({ prefix: '/', revision: first })).toMatchObject({
      refused: 'compacted',
      oldest: last,
    })
    departure.mockRestore()
  })

  test('one that never answered is passed over', SOON, async () => {
    await using relay = await startRelay(etcd.endpoint)
    relay.fallSilent()
    const endpoints = [relay.endpoint, etcd.endpoint]
    const store = createEtcdStore({ endpoints, ...beginningAt(0) })
    const revision = await write(store, put('/a', '1'))
    expect(await store.revision()).toBe(revision)
    await store.close()
  })
})
