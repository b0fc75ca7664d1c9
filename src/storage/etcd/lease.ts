import { setTimeout as delay } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import type { Caller } from './caller.ts'
import { LeaseKeepAliveRequestSchema, Lease as LeaseService } from './generated/etcd_pb.ts'
import { responses } from './rpc.ts'

/**
 * The lifetime is divided into four parts: one until the next renewal, and one for each attempt. So there is
 * time for two other endpoints after one that does not answer.
 */
const PARTS = 4
/** Milliseconds between two attempts of a renewal. */
const RETRY_MS = 100

/**
 * A lease that is renewed until it is revoked or lost. etcd deletes its keys when it expires, and never
 * before `lost` is aborted: this process counts the lifetime from the sending of a renewal, etcd from
 * its arrival.
 */
export class Lease {
  readonly id: bigint
  readonly #caller: Caller
  readonly #ttlMs: number
  readonly #lost = new AbortController()
  #expiry: NodeJS.Timeout

  /** `sent`: when it was requested, in ms of `performance.now()`. */
  private constructor(caller: Caller, granted: { id: bigint; ttlMs: number }, sent: number) {
    this.#caller = caller
    this.id = granted.id
    this.#ttlMs = granted.ttlMs
    this.#expiry = this.#expireAfter(sent)
    void this.#keep()
  }

  /** Requests a lease from etcd. @throws as `Caller.repeatable` */
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

  /** Ends the lease, so that etcd deletes its keys; an unreachable etcd does so when the lease expires. Never rejects. */
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

  /** @returns whether the lease was renewed */
  async #renew(): Promise<boolean> {
    const sent = performance.now()
    const alive = await this.#keepAlive().catch(() => undefined)
    if (alive === false) this.#end()
    if (this.lost.aborted || alive !== true) return false
    clearTimeout(this.#expiry)
    this.#expiry = this.#expireAfter(sent)
    return true
  }

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

  #expireAfter(sent: number): NodeJS.Timeout {
    return setTimeout(() => this.#end(), sent + this.#ttlMs - performance.now()).unref()
  }

  #end(): void {
    clearTimeout(this.#expiry)
    this.#lost.abort()
  }
}
