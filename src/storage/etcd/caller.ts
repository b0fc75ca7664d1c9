import { setTimeout as delay } from 'node:timers/promises'
import type {
  DescMessage,
  DescMethodBiDiStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'
import type { Client } from '@grpc/grpc-js'
import type { EndpointPool } from './endpoint-pool.ts'
import { outcomeOf, refused, unknownOutcome } from './failure.ts'
import { type Duplex, stream, unary } from './rpc.ts'

/** Milliseconds between two attempts of a call. */
const RETRY_MS = 100

/**
 * Calls etcd over the endpoint that the pool uses. A call that changes nothing is repeated until its deadline,
 * and repeated at once when another call gives up the endpoint. A call that may change something is sent once,
 * and waits for its answer.
 */
export class Caller {
  /** Milliseconds for connecting, and again for each call. */
  readonly timeoutMs: number
  readonly #pool: EndpointPool

  constructor(pool: EndpointPool, timeoutMs: number) {
    this.#pool = pool
    this.timeoutMs = timeoutMs
  }

  /** A call that may be repeated. @throws NP_STORAGE_ETCD_REFUSED, NP_STORAGE_FULL, NP_STORAGE_ETCD_UNREACHABLE */
  repeatable<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return this.#call(method, init, true)
  }

  /**
   * A call that must not happen twice.
   * @throws as `repeatable`, and NP_STORAGE_UNKNOWN_OUTCOME: the call may have happened
   */
  once<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return this.#call(method, init, false)
  }

  /**
   * A stream, and the endpoint to leave if it breaks. The stream ends when another call gives up that endpoint.
   * `signal` only ends the wait for an endpoint, not the stream.
   */
  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    signal?: AbortSignal,
  ): Promise<{ readonly call: Duplex<I, O>; readonly client: Client }> {
    const client = await this.#pool.ready(performance.now() + this.timeoutMs, signal)
    return { call: stream(client, method, this.#pool.departure(client)), client }
  }

  /** Makes later calls use another endpoint, if there is one. */
  leave(client: Client): void {
    this.#pool.leave(client)
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    mayRepeat: boolean,
  ): Promise<MessageShape<O>> {
    const deadline = performance.now() + 2 * this.timeoutMs
    for (;;) {
      const client = await this.#pool.ready(deadline)
      const limits = {
        timeoutMs: this.timeoutMs,
        ...(mayRepeat && { signal: this.#pool.departure(client) }),
      }
      try {
        return await unary(client, method, init, limits)
      } catch (error) {
        const outcome = outcomeOf(error)
        if (outcome === 'refused') throw refused(method.name, error)
        this.#pool.leave(client)
        if (outcome === 'unknown' && !mayRepeat) throw unknownOutcome(method.name, error)
        if (performance.now() + RETRY_MS >= deadline) throw this.#pool.unreachable(error)
        await delay(RETRY_MS)
      }
    }
  }
}
