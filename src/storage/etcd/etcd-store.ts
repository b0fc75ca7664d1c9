import { NodeProxyError } from '../../lib/error.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import type { Election } from '../election.ts'
import type { Store, Transaction, TxnResult } from '../store.ts'
import { Caller } from './caller.ts'
import { parseEndpoints } from './endpoint.ts'
import { EndpointPool } from './endpoint-pool.ts'
import { revisionFault } from './failure.ts'
import { KV } from './generated/etcd_pb.ts'
import { KeySpace } from './key-space.ts'
import { LeaseElection } from './lease-election.ts'
import { Reader } from './reader.ts'
import { type EtcdTls, RenewableTls } from './renewable-tls.ts'
import { markerPut, txnRequest, txnResult } from './transaction.ts'
import { type WatchContext, watchEtcd } from './watch-session.ts'

export interface EtcdOptions {
  /** As in `parseEndpoints`. The store uses any one that answers. */
  readonly endpoints: readonly string[]
  /** The prefix of all keys of the store. Default `/registry`. */
  readonly prefix?: string
  readonly tls?: EtcdTls
  /** Milliseconds for each call, and again for connecting before it. Default 5000. */
  readonly timeoutMs?: number
  /** Chooses the first endpoint. Default: the system's randomness. */
  readonly random?: Random
}

/** A store in etcd. */
export interface EtcdStore extends Store {
  /** An election among all stores with this prefix. The leader is lost when it does not renew for `ttlSeconds` (default 15). */
  election(name: string, ttlSeconds?: number): Election
  /** Uses renewed certificates for new connections; open ones stay. */
  renewTls(tls: EtcdTls): void
}

/** A store in an etcd cluster. Connects at the first call. @throws NP_STORAGE_ETCD_ENDPOINT */
export function createEtcdStore(options: EtcdOptions): EtcdStore {
  const { prefix = '/registry', timeoutMs = 5000, random = systemRandom } = options
  const endpoints = parseEndpoints(options.endpoints, options.tls !== undefined)
  const tls = new RenewableTls(options.tls ?? {})
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
 * Writes the marker if etcd has compacted beyond the store's last change. Such an etcd may have been restored
 * (`etcdutl snapshot restore --bump-revision --mark-compacted`), so that clients have seen revisions after that
 * change whose history is lost. The marker takes a revision above all of those. A compaction by another client
 * of this etcd looks the same; then one revision is wasted.
 */
async function riseAboveCompaction(caller: Caller, reader: Reader, keys: KeySpace): Promise<void> {
  const revision = await reader.revision()
  if (revision === 0 || (await reader.revisionAt(revision)) !== undefined) return
  await caller.repeatable(KV.method.txn, { success: [markerPut(keys)] })
}

/** Runs `work` at the first call, and again at the next call only if it failed. */
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

/** A revision that is already compacted is not an error; a revision in the future stands for the newest. */
async function compact(caller: Caller, reader: Reader, revision: number): Promise<void> {
  const upTo = Math.min(revision, await reader.revision())
  if (upTo < 1) return
  try {
    await caller.repeatable(KV.method.compact, { revision: BigInt(upTo) })
  } catch (error) {
    if (!(error instanceof NodeProxyError) || revisionFault(error) !== 'compacted') throw error
  }
}
