import { once } from 'node:events'
import { expect, it, vi } from 'vitest'
import { NodeProxyError } from '../../../src/lib/error.ts'
import type { LeaderTerm } from '../../../src/storage/election.ts'
import { createEtcdStore, type EtcdStore } from '../../../src/storage/etcd/etcd-store.ts'
import type { StoreEvent } from '../../../src/storage/store.ts'
import { startEtcdCluster } from '../../support/etcd/etcd-cluster.ts'
import type { EtcdProcess } from '../../support/etcd/etcd-process.ts'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'

/** Writes that are acknowledged while a member is away. */
const WRITES = 20
const WAITING = { timeout: 90_000, interval: 20 }

const freeze = {
  hit: (member: EtcdProcess) => member.freeze(),
  mend: async (member: EtcdProcess) => member.thaw(),
}
const kill = {
  hit: (member: EtcdProcess) => member.kill(),
  mend: (member: EtcdProcess) => member.start(),
}

it.runIf(hasEtcd())(
  'each of three etcds is away once, be it in use or their leader, and the store goes on',
  async () => {
    await using cluster = await startEtcdCluster(3)
    await using held = new AsyncDisposableStack()
    const open = (): EtcdStore => {
      const store = createEtcdStore({ endpoints: cluster.endpoints, timeoutMs: 1500 })
      held.defer(() => store.close())
      return store
    }
    const stop = new AbortController()
    const [one, other] = [open(), open()]
    const seen: StoreEvent[] = []
    const watching = observe(other, seen, stop.signal)
    const acknowledged: number[] = []
    const writing = writeOn(one, acknowledged, stop.signal)
    const terms: LeaderTerm[] = []
    const standing = [one, other].map((store) => stand(store, terms, stop.signal))
    for (const [index, { hit, mend }] of [freeze, kill, kill].entries()) {
      await vi.waitFor(() => expect(terms.at(-1)?.lost.aborted).toBe(false), WAITING)
      await hit(cluster.members[index]!)
      const goal = acknowledged.length + WRITES
      const nextTerm = terms.length + 1
      await terms.at(-1)?.resign()
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(goal), WAITING)
      const last = acknowledged.at(-1)!
      await vi.waitFor(() => expect(seen.at(-1)?.revision).toBeGreaterThanOrEqual(last), WAITING)
      await vi.waitFor(() => expect(terms.length).toBeGreaterThanOrEqual(nextTerm), WAITING)
      await mend(cluster.members[index]!)
    }
    stop.abort()
    await Promise.all([writing, watching, ...standing])
    const revisions = seen.map(({ revision }) => revision)
    expectRising(revisions)
    expectRising(terms.map(({ term }) => term))
    const known = acknowledged.filter((revision) => revision <= revisions.at(-1)!)
    expect(known.filter((revision) => !revisions.includes(revision))).toEqual([])
  },
)

function expectRising(numbers: readonly number[]): void {
  expect(numbers).toEqual([...new Set(numbers)].toSorted((left, right) => left - right))
}

/** Writes one value after the other; one whose answer is lost may count or not. */
async function writeOn(store: EtcdStore, acknowledged: number[], stop: AbortSignal): Promise<void> {
  for (let count = 0; !stop.aborted; count++) {
    const operation = { op: 'put', key: '/a', value: Buffer.from(`${count}`) } as const
    try {
      acknowledged.push((await store.txn({ compare: [], operations: [operation] })).revision)
    } catch (error) {
      if (!(error instanceof NodeProxyError && PASSING.has(error.code))) throw error
    }
  }
}

/** What a client hears while the members elect a leader, which takes longer on a busy machine. */
const PASSING = new Set(['NP_STORAGE_UNKNOWN_OUTCOME', 'NP_STORAGE_ETCD_UNREACHABLE'])

async function observe(store: EtcdStore, seen: StoreEvent[], stop: AbortSignal): Promise<void> {
  for await (const batch of store.watch({ prefix: '/', after: 0, signal: stop })) {
    if (batch.refused !== undefined) throw new Error(batch.refused)
    seen.push(...batch.events)
  }
}

/** Stands for election, term after term. */
async function stand(store: EtcdStore, terms: LeaderTerm[], stop: AbortSignal): Promise<void> {
  const election = store.election('some', 5)
  while (!stop.aborted) {
    const leading = await election.campaign('other', stop).catch((error: unknown) => {
      if (!stop.aborted) throw error
    })
    if (leading === undefined) return
    terms.push(leading)
    const over = AbortSignal.any([leading.lost, stop])
    if (!over.aborted) await once(over, 'abort')
    await leading.resign()
  }
}
