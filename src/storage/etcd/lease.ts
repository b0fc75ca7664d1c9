import { create } from '@bufbuild/protobuf'
import type { Caller } from './caller.ts'
import { LeaseKeepAliveRequestSchema, Lease as LeaseService } from './generated/etcd_pb.ts'
import { responses } from './rpc.ts'

/** Renewals per lifetime: two may fail in a row. */
const RENEWALS = 3

/**
 * A lease that is renewed until it is revoked or lost. Keys that were written
 * with it disappear with it, and never before `lost` is aborted: the lifetime is
 * counted here from the sending of a renewal, in etcd from its arrival.
 */
export class Lease {
  readonly id: bigint
  readonly #caller: Caller
  readonly #ttlMs: number
  readonly #lost = new AbortController()
  readonly #renewals: NodeJS.Timeout
  #expiry: NodeJS.Timeout

  /** `sent`: when it was asked for, in ms of `performance.now()`. */
  private constructor(caller: Caller, granted: { id: bigint; ttlMs: number }, sent: number) {
    this.#caller = caller
    this.id = granted.id
    this.#ttlMs = granted.ttlMs
    this.#expiry = this.#expireAfter(sent)
    this.#renewals = setInterval(() => void this.#renew(), granted.ttlMs / RENEWALS).unref()
  }

  static async grant(caller: Caller, ttlSeconds: number): Promise<Lease> {
    const sent = performance.now()
    const { id, ttl } = await caller.repeatable(LeaseService.method.leaseGrant, {
      ttl: BigInt(Math.ceil(ttlSeconds)),
    })
    return new Lease(caller, { id, ttlMs: Number(ttl) * 1000 }, sent)
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Deletes what was written with the lease. An etcd that cannot be asked does so when it expires. */
  async revoke(): Promise<void> {
    if (this.#lost.signal.aborted) return
    this.#end()
    await this.#caller
      .repeatable(LeaseService.method.leaseRevoke, { id: this.id })
      .catch(() => undefined)
  }

  /** A failed renewal is made up for by the next one, or by the expiry. */
  async #renew(): Promise<void> {
    const sent = performance.now()
    const alive = await this.#keepAlive().catch(() => undefined)
    if (this.#lost.signal.aborted || alive === undefined) return
    if (!alive) return this.#end()
    clearTimeout(this.#expiry)
    this.#expiry = this.#expireAfter(sent)
  }

  async #keepAlive(): Promise<boolean | undefined> {
    const { call, client } = await this.#caller.stream(LeaseService.method.leaseKeepAlive)
    const late = setTimeout(() => call.cancel(), this.#ttlMs / RENEWALS)
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

  #expireAfter(sent: number): NodeJS.Timeout {
    return setTimeout(() => this.#end(), sent + this.#ttlMs - performance.now()).unref()
  }

  #end(): void {
    clearInterval(this.#renewals)
    clearTimeout(this.#expiry)
    this.#lost.abort()
  }
}
