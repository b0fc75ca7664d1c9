import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type EtcdProcess, startEtcd } from '../../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../../test/support/etcd/has-etcd.ts'
import { put, write } from '../testing/conformance-steps.ts'
import { createEtcdStore, type EtcdStore } from './etcd-store.ts'

/** Waits until the watches of a leader and of one who waits are both restored. */
async function twoWatchersInStep(etcd: EtcdProcess): Promise<void> {
  await vi.waitFor(async () => {
    const metrics = await (await fetch(`${etcd.endpoint}/metrics`)).text()
    expect(metrics).toMatch(/^etcd_debugging_mvcc_watcher_total 2$/m)
    expect(metrics).toMatch(/^etcd_debugging_mvcc_slow_watcher_total 0$/m)
  }, 90_000)
}

describe.runIf(hasEtcd())('an election', () => {
  let etcd: EtcdProcess
  const stores: EtcdStore[] = []
  const open = (prefix = '/registry'): EtcdStore => {
    const store = createEtcdStore({ endpoints: [etcd.endpoint], prefix, timeoutMs: 500 })
    stores.push(store)
    return store
  }
  /** Who leads, as it is written in etcd. */
  const leaderOf = async (name: string): Promise<string | undefined> =>
    (await open('/registry-elections').get(`/${name}`))?.value.toString()
  beforeAll(async () => {
    etcd = await startEtcd()
  })
  afterAll(() => etcd[Symbol.asyncDispose]())
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
  })

  test('has one leader; who resigns is evicted at once, for a later term', async () => {
    const [one, two] = [open().election('resign'), open().election('resign')]
    expect(await leaderOf('resign')).toBeUndefined()
    const first = await one.campaign('one')
    expect(await leaderOf('resign')).toBe('one')
    let won = false
    const waiting = two.campaign('two').then((leading) => {
      won = true
      return leading
    })
    expect([await leaderOf('resign'), won, first.lost.aborted]).toEqual(['one', false, false])
    await first.resign()
    const second = await waiting
    expect(first.lost.aborted).toBe(true)
    expect(second.term).toBeGreaterThan(first.term)
    expect(await leaderOf('resign')).toBe('two')
    await second.resign()
  })

  test('among many at once has one winner after the other', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const terms = await Promise.all(
      names.map(async (name) => {
        const { term, lost, resign } = await open().election('many').campaign(name)
        expect([await leaderOf('many'), lost.aborted]).toEqual([name, false])
        await resign()
        return term
      }),
    )
    expect(new Set(terms).size).toBe(names.length)
  })

  test('goes on without a leader that died', async () => {
    const dying = open()
    const first = await dying.election('death', 1).campaign('one')
    await dying.close()
    const second = await open().election('death', 1).campaign('two')
    expect(first.lost.aborted).toBe(true)
    expect(second.term).toBeGreaterThan(first.term)
    await second.resign()
  })

  test('is lost by a leader that cannot renew, and by one that is deposed by hand', async () => {
    const store = open()
    const frozen = await store.election('frozen', 1).campaign('one')
    await etcd.freeze()
    await once(frozen.lost, 'abort')
    etcd.thaw()
    const deposed = await open().election('deposed').campaign('one')
    const operations = [{ op: 'delete', key: '/deposed' } as const]
    const [result] = await Promise.all([
      open('/registry-elections').txn({ compare: [], operations }),
      once(deposed.lost, 'abort'),
    ])
    expect(result.committed).toBe(true)
  })

  test('is renewed for as long as the leader lives', async () => {
    // A machine that is busy for a second may neither end the term, nor make it last without a renewal.
    const leading = await open().election('alive', 4).campaign('one')
    const later = AbortSignal.timeout(6_000)
    await once(later, 'abort')
    expect(leading.lost.aborted).toBe(false)
    expect(await leaderOf('alive')).toBe('one')
    await leading.resign()
  })

  test('outlives compaction, for the leader and for those who wait', async () => {
    const store = open()
    const leading = await store.election('compaction').campaign('one')
    const waiting = open().election('compaction').campaign('two')
    for (let count = 0; count < 3; count++) {
      await store.compact(await write(store, put('/a', 'x')))
    }
    await etcd.kill()
    await etcd.start()
    await twoWatchersInStep(etcd)
    expect([await leaderOf('compaction'), leading.lost.aborted]).toEqual(['one', false])
    await leading.resign()
    await (await waiting).resign()
  })

  test('can be given up while waiting', async () => {
    const leading = await open().election('waiting').campaign('one')
    const giveUp = new AbortController()
    const waiting = open().election('waiting').campaign('two', giveUp.signal)
    giveUp.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await leading.resign()
  })
})
