import { NodeProxyError } from '../../lib/error.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import type { Election } from '../election.ts'
import type { Store, Transaction, TxnResult } from '../store.ts'
import { Caller } from './caller.ts'
import { parseEndpoints } from './endpoint.ts'
import { EndpointPool } from './endpoint-pool.ts'
import { watchEtcd } from './etcd-watch.ts'
import { revisionFault } from './failure.ts'
import { KV } from './generated/etcd_pb.ts'
import { KeySpace } from './key-space.ts'
import { LeaseElection } from './lease-election.ts'
import { type EtcdTls, PresentTls } from './present-tls.ts'
import { Reader } from './reader.ts'
import { markerPut, txnRequest, txnResult } from './transaction.ts'
import type { WatchContext } from './watch-session.ts'

export interface EtcdOptions {
  /** See `parseEndpoints`. Any one that answers is used. */
  readonly endpoints: readonly string[]
  /** All keys of the store lie under it. Default `/registry`. */
  readonly prefix?: string
  readonly tls?: EtcdTls
  /** Bounds each call, and the connecting before it. Default 5 s. */
  readonly timeoutMs?: number
  /** Chooses the endpoint to begin with. */
  readonly random?: Random
}

export interface EtcdStore extends Store {
  /** An election among all stores with this prefix. A lead that is not renewed for `ttlSeconds` ends. */
  election(name: string, ttlSeconds?: number): Election
  /** Takes renewed certificates: connections that begin from now on use them, those that stand stay. */
  renewTls(tls: EtcdTls): void
}

/** A store in an etcd cluster, which it does not contact before it has to. */
export function createEtcdStore(options: EtcdOptions): EtcdStore {
  const { prefix = '/registry', timeoutMs = 5000, random = systemRandom } = options
  const endpoints = parseEndpoints(options.endpoints, options.tls !== undefined)
  const tls = new PresentTls(options.tls ?? {})
  const pool = new EndpointPool(endpoints, tls, random)
  const caller = new Caller(pool, timeoutMs)
  const keys = new KeySpace(prefix)
  const reader = new Reader(caller, keys)
  const context: WatchContext = {
    caller,
    keys,
    newest: () => reader.revision(),
    revisionAt: (revision) => reader.revisionAt(revision),
  }
  const closed = new AbortController()
  const begun = onceDone(() => riseAboveCompaction(caller, reader, keys))
  return {
    revision: () => begun().then(() => reader.revision()),
    get: (key) => reader.get(key),
    list: (query) => reader.list(query),
    txn: (transaction) => begun().then(() => txn(caller, keys, transaction)),
    watch: (query) => watchEtcd(context, query, closed.signal),
    compact: (revision) => compact(caller, reader, revision),
    election: (name, ttlSeconds = 15) =>
      new LeaseElection(caller, { root: `${prefix}-elections`, name, ttlSeconds }),
    renewTls: (next) => tls.replace(next),
    close: async () => {
      closed.abort()
      pool.close()
    },
  }
}

async function txn(caller: Caller, keys: KeySpace, transaction: Transaction): Promise<TxnResult> {
  const request = txnRequest(transaction, keys)
  const response =
    transaction.operations.length === 0
      ? await caller.repeatable(KV.method.txn, request)
      : await caller.once(KV.method.txn, request)
  return txnResult(response, keys)
}

/**
 * An etcd that forgot more than the store's last change may have been restored
 * (`etcdutl snapshot restore --bump-revision --mark-compacted`): then revisions
 * beyond that change were given out in a history that is lost. So the
 * store takes a new one, above them all. The compaction of another user of the etcd looks
 * the same, and costs one revision.
 */
async function riseAboveCompaction(caller: Caller, reader: Reader, keys: KeySpace): Promise<void> {
  const revision = await reader.revision()
  if (revision === 0 || (await reader.revisionAt(revision)) !== undefined) return
  await caller.repeatable(KV.method.txn, { success: [markerPut(keys)] })
}

/** Does something at the first call, and again at the next one only if it failed. */
function onceDone(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined
      throw error
    })
    return done
  }
}

/** Forgetting what was forgotten already is no error; what is not there yet cannot be forgotten. */
async function compact(caller: Caller, reader: Reader, revision: number): Promise<void> {
  const upTo = Math.min(revision, await reader.revision())
  if (upTo < 1) return
  try {
    await caller.repeatable(KV.method.compact, { revision: BigInt(upTo) })
  } catch (error) {
    if (!(error instanceof NodeProxyError) || revisionFault(error) !== 'compacted') throw error
  }
}
