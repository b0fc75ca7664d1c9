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

const RETRY_MS = 100

/**
 * Calls to whichever endpoint answers. What changes nothing is repeated until
 * its time is over; what may have changed something is sent once.
 */
export class Caller {
  readonly #pool: EndpointPool
  readonly #timeoutMs: number

  /** `timeoutMs` bounds connecting, and again each call. */
  constructor(pool: EndpointPool, timeoutMs: number) {
    this.#pool = pool
    this.#timeoutMs = timeoutMs
  }

  /** A call that may be repeated. Rejects with `…_ETCD_REFUSED` or `…_ETCD_UNREACHABLE`. */
  repeatable<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return this.#call(method, init, true)
  }

  /**
   * A call that must not happen twice. Besides the errors of `repeatable` it
   * rejects with `NP_STORAGE_UNKNOWN_OUTCOME`: it may have happened.
   */
  once<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return this.#call(method, init, false)
  }

  /** A stream, and the endpoint to leave if it breaks. Aborting only ends the wait for an endpoint. */
  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    signal?: AbortSignal,
  ): Promise<{ readonly call: Duplex<I, O>; readonly client: Client }> {
    const client = await this.#pool.ready(Date.now() + this.#timeoutMs, signal)
    return { call: stream(client, method), client }
  }

  leave(client: Client): void {
    this.#pool.leave(client)
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    mayRepeat: boolean,
  ): Promise<MessageShape<O>> {
    const deadline = Date.now() + 2 * this.#timeoutMs
    for (;;) {
      const client = await this.#pool.ready(deadline)
      try {
        return await unary(client, method, init, Date.now() + this.#timeoutMs)
      } catch (error) {
        const outcome = outcomeOf(error)
        if (outcome === 'refused') throw refused(method.name, error)
        this.#pool.leave(client)
        if (outcome === 'unknown' && !mayRepeat) throw unknownOutcome(method.name, error)
        if (Date.now() + RETRY_MS >= deadline) throw this.#pool.unreachable(error)
        await delay(RETRY_MS)
      }
    }
  }
}
