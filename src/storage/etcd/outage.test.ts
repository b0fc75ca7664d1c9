import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type EtcdProcess, startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../../test/support/etcd/has-etcd.ts'
import { nextBatch, put, remove, write } from '../testing/conformance-steps.ts'
import { createEtcdStore, type EtcdOptions, type EtcdStore } from './etcd-store.ts'
import { beginningAt } from './testing/fixtures.ts'

/** No process listens on the port for discarded data. */
const UNREACHABLE = 'http://127.0.0.1:9'

describe.runIf(hasEtcd())('when etcd', () => {
  let etcd: EtcdProcess
  const stores: EtcdStore[] = []
  const open = (options: Partial<EtcdOptions> = {}): EtcdStore => {
    const store = createEtcdStore({ endpoints: [etcd.endpoint], timeoutMs: 10_000, ...options })
    stores.push(store)
    return store
  }
  beforeEach(async () => {
    etcd = await startEtcd()
  })
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
    await etcd[Symbol.asyncDispose]()
  })

  test('is killed and returns, watches go on without a gap and without repetition', async () => {
    const store = open()
    const watch = store.watch({ prefix: '/', after: await store.revision() })
    const seen: string[] = []
    const readTo = async (last: number): Promise<void> => {
      for (let at = 0; at < last; ) {
        const { events, revision } = await nextBatch(watch)
        seen.push(...events.map(({ entry }) => String(entry?.value)))
        at = revision
      }
    }
    const written: string[] = []
    for (let round = 0; round < 4; round++) {
      written.push(`${round}`)
      const reading = readTo(await write(store, put('/a', `${round}`)))
      if (round % 2 === 0) await reading
      await etcd.kill()
      await etcd.start()
      await reading
    }
    expect(seen).toEqual(written)
  })

  test('is away for a while, reads wait for it', async () => {
    const store = open()
    await write(store, put('/a', '1'))
    await etcd.kill()
    const reading = store.get('/a')
    await etcd.start()
    expect(String((await reading)?.value)).toBe('1')
  })

  test('was compacted meanwhile, a watch reports it', async () => {
    const store = open()
    const first = await write(store, put('/a', '1'))
    const watch = store.watch({ prefix: '/', after: first - 1 })
    await nextBatch(watch)
    await etcd.kill()
    await etcd.start()
    await write(store, put('/a', '2'))
    const last = await write(store, remove('/a'))
    await store.compact(last)
    await store.compact(last)
    expect((await watch.next()).value).toMatchObject({ refused: 'compacted', oldest: last })
  })

  test('was compacted at a deletion, no watch may begin just before it', async () => {
    const store = open()
    const first = await write(store, put('/a', '1'))
    await store.compact(await write(store, remove('/a')))
    const { value } = await store.watch({ prefix: '/', after: first }).next()
    expect(value).toMatchObject({ refused: 'compacted', oldest: first + 1 })
  })

  test('does not answer a transaction, its outcome is unknown, and can be read', async () => {
    const store = open({ timeoutMs: 300 })
    await write(store, put('/a', '1'))
    await etcd.freeze()
    await expect(write(store, put('/a', '2'))).rejects.toMatchObject({
      code: 'NP_STORAGE_UNKNOWN_OUTCOME',
    })
    etcd.thaw()
    expect(['1', '2']).toContain(String((await open().get('/a'))?.value))
  })

  test('is nowhere, the error names the endpoints; where it is elsewhere, it is found', async () => {
    const lost = open({ endpoints: [UNREACHABLE], timeoutMs: 200 })
    await expect(write(lost, put('/a', '1'))).rejects.toMatchObject({
      code: 'NP_STORAGE_ETCD_UNREACHABLE',
      message: expect.stringContaining('127.0.0.1:9'),
    })
    const store = open({ endpoints: [UNREACHABLE, etcd.endpoint], ...beginningAt(0) })
    const revision = await write(store, put('/a', '1'))
    expect((await store.get('/a'))?.modRevision).toBe(revision)
  })

  test('dies, another cluster among the endpoints does not take its place', async () => {
    await using foreign = await startEtcd()
    const endpoints = [foreign.endpoint, etcd.endpoint]
    const store = open({ endpoints, timeoutMs: 500, ...beginningAt(1) })
    await write(store, put('/a', '1'))
    await etcd.kill()
    await expect(store.get('/a')).rejects.toMatchObject({ code: 'NP_STORAGE_ETCD_UNREACHABLE' })
    expect(await open({ endpoints: [foreign.endpoint] }).revision()).toBe(0)
  })

  test('refuses, the error contains its message', async () => {
    const many = Array.from({ length: 200 }, (_, index) => put(`/${index}`, 'x'))
    await expect(write(open(), ...many)).rejects.toMatchObject({
      code: 'NP_STORAGE_ETCD_REFUSED',
      message: expect.stringContaining('too many operations'),
      hint: expect.stringContaining('--max-txn-ops'),
    })
  })

  test('has used up its quota, writes fail with the reason and reads go on', async () => {
    await using small = await startEtcd({ args: ['--quota-backend-bytes', `${2 << 20}`] })
    const store = open({ endpoints: [small.endpoint] })
    const fill = async (): Promise<void> => {
      // etcd counts what it has committed, which it does every 100 ms.
      for (let nr = 0; nr < 500; nr++) await write(store, put(`/${nr}`, 'x'.repeat(1 << 20)))
    }
    await expect(fill()).rejects.toMatchObject({
      code: 'NP_STORAGE_FULL',
      hint: expect.stringContaining('--quota-backend-bytes'),
    })
    expect((await store.get('/0'))?.value).toHaveLength(1 << 20)
  })

  test('is written by others and compacted, nothing of it concerns the store', async () => {
    const [store, other] = [open(), open({ prefix: '/elsewhere' })]
    const last = await write(store, put('/a', '1'))
    const beyond = await write(other, put('/a', '1'))
    await other.compact(beyond)
    const { resign } = await store.election('some').campaign('one')
    expect(await store.revision()).toBe(last)
    for (const pinned of [{}, { revision: last }]) {
      const page = await store.list({ prefix: '/', ...pinned })
      expect([page.refused, page.refused ?? page.revision]).toEqual([undefined, last])
    }
    expect(await store.list({ prefix: '/', revision: beyond })).toMatchObject({
      refused: 'future',
      newest: last,
    })
    const watch = store.watch({ prefix: '/', after: last })
    const next = await write(store, put('/b', '1'))
    expect(await nextBatch(watch)).toMatchObject({ events: [{ key: '/b' }], revision: next })
    await other.compact(await write(other, put('/a', '1')))
    const past = await store.list({ prefix: '/', revision: last })
    expect(past).toMatchObject({ refused: 'compacted', oldest: next, newest: next })
    await resign()
  })

  test('gets deletions only, they take a revision if there is something to delete', async () => {
    const store = open()
    const written = await write(store, put('/a', '1'))
    await write(open({ prefix: '/elsewhere' }), put('/a', '1'))
    const watch = store.watch({ prefix: '/', after: written })
    expect(await write(store, remove('/b'), remove('/c'))).toBe(written)
    const removed = await write(store, remove('/a'), remove('/b'))
    expect(await store.revision()).toBe(removed)
    expect(await nextBatch(watch)).toMatchObject({
      events: [{ key: '/a', revision: removed, entry: undefined }],
      revision: removed,
    })
    expect(await store.txn({ compare: [], operations: [] })).toEqual({
      committed: true,
      revision: removed,
    })
  })

  test('sends a large backlog in fragments, revisions stay whole', async () => {
    const store = open()
    const after = await store.revision()
    const large = 'x'.repeat(400_000)
    const names = ['/a', '/b', '/c']
    let last = after
    for (let round = 0; round < 5; round++) {
      last = await write(store, ...names.map((name) => put(name, large)))
    }
    const watch = store.watch({ prefix: '/', after })
    for (let at = after; at < last; ) {
      const { events, revision } = await nextBatch(watch)
      for (const changes of Map.groupBy(events, (event) => event.revision).values()) {
        expect(changes.map(({ key }) => key)).toEqual(names)
      }
      at = revision
    }
  })

  test('holds many entries, a list is put together from several responses of one state', async () => {
    const store = open()
    const names = Array.from({ length: 2400 }, (_, index) => `/${index}`)
    for (let first = 0; first < names.length; first += 120) {
      await write(store, ...names.slice(first, first + 120).map((name) => put(name, 'x')))
    }
    const page = await store.list({ prefix: '/' })
    if (page.refused !== undefined) throw new Error(page.refused)
    expect(page.entries.map(({ key }) => key)).toEqual(names.toSorted())
    expect(page).toMatchObject({ remaining: 0, revision: await store.revision() })
    expect(await store.list({ prefix: '/', limit: 2100 })).toMatchObject({ remaining: 300 })
    expect(await store.list({ prefix: '/', limit: 0 })).toMatchObject({
      entries: [],
      remaining: 2400,
    })
  })

  test('is written to during a long list, its revision is that of its first part', async () => {
    const store = open()
    const names = Array.from({ length: 2100 }, (_, index) => `/${1000 + index}`)
    for (let first = 0; first < names.length; first += 120) {
      await write(store, ...names.slice(first, first + 120).map((name) => put(name, 'x')))
    }
    const listed = new AbortController()
    const listing = store.list({ prefix: '/' }).finally(() => listed.abort())
    while (!listed.signal.aborted) await write(store, put('/1000', 'y'))
    const page = await listing
    if (page.refused !== undefined) throw new Error(page.refused)
    expect(await store.list({ prefix: '/', revision: page.revision })).toEqual(page)
  })

  test('is shared, each store sees its own prefix', async () => {
    const [one, two] = [open({ prefix: '/one' }), open({ prefix: `/one${randomUUID()}` })]
    await write(one, put('/a', '1'))
    await write(two, put('/b', '2'))
    const page = await one.list({ prefix: '' })
    expect(page.refused ?? page.entries.map(({ key }) => key)).toEqual(['/a'])
  })
})
