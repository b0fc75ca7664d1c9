import { expect, test } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createMemoryStore } from '../../storage/memory-store.ts'
import type { Store, Transaction } from '../../storage/store.ts'
import { startApi } from '../testing/test-api.ts'
import { StoreHealth } from './store-health.ts'

const FULL = new NodeProxyError('NP_STORAGE_FULL', '"/var/lib/x": database or disk is full')

function put(key: string): Transaction {
  return { compare: [], operations: [{ op: 'put', key, value: Buffer.from('{}') }] }
}

/** A store whose disk is full while `isFull`. */
function disk() {
  const state = { isFull: false, writes: 0 }
  const wrap = (store: Store): Store => ({
    ...store,
    txn: (transaction) => {
      state.writes++
      return state.isFull ? Promise.reject(FULL) : store.txn(transaction)
    },
  })
  return { state, wrap }
}

test('a server whose last write failed is not well until the store takes one', async () => {
  const { state, wrap } = disk()
  const api = await startApi({ wrap, onError: () => undefined })
  state.isFull = true
  await api.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'a' } } })
  expect((await api.call('GET', '/healthz/writes')).text).toContain(
    '[-]writes failed: the store is full\n',
  )
  for (const path of ['/livez', '/readyz']) {
    expect((await api.call('GET', path)).status).toBe(200)
  }
  state.isFull = false
  await api.make('/api/v1/namespaces', { metadata: { name: 'a' } })
  expect((await api.call('GET', '/healthz')).text).toBe('ok')
})

test('without other writes it probes by itself, until a probe succeeds', async () => {
  const { state, wrap } = disk()
  const clock = new FakeClock()
  const health = new StoreHealth(wrap(createMemoryStore()), clock)
  await health.store.txn(put('/a'))
  expect(clock.pending()).toEqual([])
  state.isFull = true
  await expect(health.store.txn(put('/b'))).rejects.toBe(FULL)
  await expect(health.store.txn(put('/b'))).rejects.toBe(FULL)
  await clock.advance(5000)
  expect([health.writeFault, state.writes]).toEqual(['the store is full', 4])
  state.isFull = false
  await clock.advance(5000)
  expect([health.writeFault, state.writes]).toEqual([undefined, 5])
  expect(clock.pending()).toEqual([])
})

test('a transaction that writes nothing is no proof', async () => {
  const { state, wrap } = disk()
  const health = new StoreHealth(wrap(createMemoryStore()), new FakeClock())
  state.isFull = true
  await expect(health.store.txn(put('/a'))).rejects.toBe(FULL)
  state.isFull = false
  await health.store.txn({ compare: [], operations: [{ op: 'delete', key: '/none' }] })
  await health.store.txn({ ...put('/a'), compare: [{ key: '/a', modRevision: 7 }] })
  expect(health.writeFault).toBe('the store is full')
  await health.store.txn(put('/a'))
  expect(health.writeFault).toBeUndefined()
})

test('a server that closes ends its probes', async () => {
  const { state, wrap } = disk()
  const clock = new FakeClock()
  const [late, early] = [1, 2].map(() => new StoreHealth(wrap(createMemoryStore()), clock))
  state.isFull = true
  await expect(late!.store.txn(put('/a'))).rejects.toBe(FULL)
  late!.stop()
  early!.stop()
  await expect(early!.store.txn(put('/a'))).rejects.toBe(FULL)
  expect(clock.pending()).toEqual([])
})

test('a store that does not answer is known after a second, and from then on at once', async () => {
  const clock = new FakeClock()
  const answer = Promise.withResolvers<number>()
  const store = { ...createMemoryStore(), revision: () => answer.promise }
  const health = new StoreHealth(store, clock)
  const first = health.newest()
  await clock.advance(1000)
  expect(await first).toBeUndefined()
  expect(await health.newest()).toBeUndefined()
  expect(health.readFault).toBe('the store does not answer')
  answer.resolve(3)
  await clock.advance(0)
  expect([health.readFault, await health.newest()]).toEqual([undefined, 3])
})
