import { setTimeout as delay } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { NodeProxyError } from '../../lib/error.ts'
import type { Election, LeaderTerm } from '../election.ts'
import type { RevisionRefusal } from '../store.ts'
import type { Caller } from './caller.ts'
import { KV, LeaseKeepAliveRequestSchema, Lease as LeaseService } from './generated/etcd_pb.ts'
import { KeySpace } from './key-space.ts'
import { Reader } from './reader.ts'
import { responses } from './rpc.ts'
import { txnRequest } from './transaction.ts'
import { type WatchContext, watchEtcd } from './watch-session.ts'

/** Milliseconds between two attempts of a candidate after a temporary error. */
const PAUSE_MS = 500

interface ElectionOptions {
  /** The prefix of the keys of elections, such as `/registry-elections`. */
  readonly root: string
  /** The name of the election; it is the last part of its key. */
  readonly name: string
  /** The lifetime of the leader's lease: it expires if the leader has not renewed it for so long. */
  readonly ttlSeconds: number
}

/**
 * An election over one key of etcd. The leader is the candidate that created the key, with its lease. When the leader
 * dies or is disconnected, the lease expires and etcd deletes the key. The other candidates watch the key, and then try
 * to create it again. The createRevision of the key is the term. The watches use the revisions of etcd rather than
 * those of a marker (see `KeySpace`), because no marker is written when a key expires.
 */
export class LeaseElection implements Election {
  readonly #context: WatchContext
  readonly #reader: Reader
  readonly #key: string
  readonly #ttlSeconds: number

  constructor(caller: Caller, { root, name, ttlSeconds }: ElectionOptions) {
    const keys = new KeySpace(root)
    this.#reader = new Reader(caller, keys)
    this.#context = {
      caller,
      keys,
      newest: () => this.#reader.etcdRevision(),
      revisionAt: async (revision) => revision,
    }
    this.#key = `/${name}`
    this.#ttlSeconds = ttlSeconds
  }

  async campaign(candidate: string, signal?: AbortSignal): Promise<LeaderTerm> {
    for (;;) {
      signal?.throwIfAborted()
      try {
        await this.#vacancy(signal)
        const leading = await this.#claim(candidate)
        if (leading !== undefined) return leading
      } catch (error) {
        signal?.throwIfAborted()
        if (!isTemporary(error)) throw error
        await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined)
      }
    }
  }

  /** Returns once there is no leader, or `signal` is aborted. */
  async #vacancy(signal = new AbortController().signal): Promise<void> {
    const entry = await this.#reader.get(this.#key)
    if (entry !== undefined) await this.#gone(entry.modRevision, signal)
  }

  /**
   * Returns once the key that was written at `revision` is gone, or `signal` is aborted. If etcd refuses the watch, the
   * key is read, and watched again from the newest revision.
   */
  async #gone(revision: number, signal: AbortSignal): Promise<void> {
    for (let after = revision; !signal.aborted; ) {
      const refused = await this.#deleted(after, signal)
      if (refused === undefined) return
      const entry = await this.#reader.get(this.#key)
      if (entry?.modRevision !== revision) return
      after = refused.newest
    }
  }

  /**
   * Watches the changes after revision `after` until the key is deleted or `signal` is aborted.
   * @returns the refusal, if etcd refuses the watch
   */
  async #deleted(after: number, signal: AbortSignal): Promise<RevisionRefusal | undefined> {
    const query = { prefix: this.#key, after }
    for await (const batch of watchEtcd(this.#context, query, signal)) {
      if (batch.refused !== undefined) return batch
      const deleted = batch.events.some(({ key, entry }) => key === this.#key && !entry)
      if (deleted) return undefined
    }
    return undefined
  }

  /** Tries to become the leader. Undefined when another candidate was faster. */
  async #claim(candidate: string): Promise<LeaderTerm | undefined> {
    const lease = await Lease.grant(this.#context.caller, this.#ttlSeconds)
    try {
      const term = await this.#write(candidate, lease)
      if (term !== undefined) return this.#leading(term, lease)
    } catch (error) {
      await lease.revoke()
      throw error
    }
    await lease.revoke()
    return undefined
  }

  /** Creates the key, with the lease. @returns its createRevision; undefined if the key exists already */
  async #write(candidate: string, lease: Lease): Promise<number | undefined> {
    const { caller, keys } = this.#context
    const { compare = [] } = txnRequest(
      { compare: [{ key: this.#key, modRevision: 0 }], operations: [] },
      keys,
    )
    const value = { key: keys.encode(this.#key), value: Buffer.from(candidate), lease: lease.id }
    const { succeeded, header } = await caller.once(KV.method.txn, {
      compare,
      success: [{ request: { case: 'requestPut', value } }],
    })
    return succeeded ? Number(header?.revision ?? 0n) : undefined
  }

  /** The term that has begun. It ends with the lease, and also when another client deletes the key. */
  #leading(term: number, lease: Lease): LeaderTerm {
    void this.#gone(term, lease.lost)
      .catch(() => undefined)
      .then(() => lease.revoke())
    return { term, lost: lease.lost, resign: () => lease.revoke() }
  }
}

/**
 * Whether another attempt may succeed. It may also do so after an unknown outcome of creating the key: the lease was
 * revoked then, and the key with it.
 */
function isTemporary(error: unknown): boolean {
  const temporary = ['NP_STORAGE_UNKNOWN_OUTCOME', 'NP_STORAGE_ETCD_UNREACHABLE']
  return error instanceof NodeProxyError && temporary.includes(error.code)
}

/**
 * The lifetime of a lease is divided into this number of equal parts. The first part passes before the renewal; each of
 * the others is the time for one attempt. So after an endpoint that does not answer, there is time for two others.
 */
const PARTS = 4
/** Milliseconds between two attempts of a renewal. */
const RETRY_MS = 100

/**
 * A lease that is renewed until it is revoked or lost. etcd deletes its keys when it expires. By then, `lost` has been
 * aborted, because this process counts the lifetime from when it sent the last renewal, and etcd from when that
 * arrived.
 */
class Lease {
  readonly id: bigint
  readonly #caller: Caller
  readonly #ttlMs: number
  readonly #lost = new AbortController()
  #expiry: NodeJS.Timeout

  /** `sent`: when the lease was requested, in milliseconds of `performance.now()`. */
  private constructor(caller: Caller, granted: { id: bigint; ttlMs: number }, sent: number) {
    this.#caller = caller
    this.id = granted.id
    this.#ttlMs = granted.ttlMs
    this.#expiry = this.#expireAfter(sent)
    void this.#keep()
  }

  /** Requests a lease from etcd, rounded up to whole seconds. @throws as `Caller.repeatable` */
  static async grant(caller: Caller, ttlSeconds: number): Promise<Lease> {
    const sent = performance.now()
    const { id, ttl } = await caller.repeatable(LeaseService.method.leaseGrant, {
      ttl: BigInt(Math.ceil(ttlSeconds)),
    })
    return new Lease(caller, { id, ttlMs: Number(ttl) * 1000 }, sent)
  }

  /** Aborted when the lease was revoked or may have expired. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /**
   * Ends the lease, so that etcd deletes its keys. If etcd cannot be reached, it deletes them when the lease expires.
   * Never rejects.
   */
  async revoke(): Promise<void> {
    if (this.#lost.signal.aborted) return
    this.#end()
    await this.#caller
      .repeatable(LeaseService.method.leaseRevoke, { id: this.id })
      .catch(() => undefined)
  }

  /** Renews the lease until it is lost. */
  async #keep(): Promise<void> {
    for (let rest = this.#ttlMs / PARTS; !this.lost.aborted; ) {
      await delay(rest, undefined, { signal: this.lost, ref: false }).catch(() => undefined)
      if (this.lost.aborted) return
      rest = (await this.#renew()) ? this.#ttlMs / PARTS : RETRY_MS
    }
  }

  /** Makes one attempt to renew the lease; ends the lease if etcd no longer has it. @returns whether it was renewed */
  async #renew(): Promise<boolean> {
    const sent = performance.now()
    const alive = await this.#keepAlive().catch(() => undefined)
    if (alive === false) this.#end()
    if (this.lost.aborted || alive !== true) return false
    clearTimeout(this.#expiry)
    this.#expiry = this.#expireAfter(sent)
    return true
  }

  /**
   * Sends one renewal, and gives up the endpoint if it fails or has no answer in time.
   * @returns true if etcd renewed the lease; false if etcd no longer has it; undefined if the stream ended first
   */
  async #keepAlive(): Promise<boolean | undefined> {
    const method = LeaseService.method.leaseKeepAlive
    const { call, client } = await this.#caller.stream(method, this.lost)
    const late = setTimeout(() => call.cancel(), this.#ttlMs / PARTS)
    try {
      call.write(create(LeaseKeepAliveRequestSchema, { id: this.id }))
      for await (const { ttl } of responses(call)) return ttl > 0n
      return undefined
    } catch (error) {
      this.#caller.leave(client)
      throw error
    } finally {
      clearTimeout(late)
      call.cancel()
    }
  }

  /** Starts the timer that ends the lease one lifetime after `sent`. */
  #expireAfter(sent: number): NodeJS.Timeout {
    return setTimeout(() => this.#end(), sent + this.#ttlMs - performance.now()).unref()
  }

  /** Ends the lease in this process alone. */
  #end(): void {
    clearTimeout(this.#expiry)
    this.#lost.abort()
  }
}
