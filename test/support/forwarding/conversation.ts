import { connect, type Socket } from 'node:net'
import { Heard, type HeardReport } from './heard.ts'
import type { Order } from './order.ts'
import { type Opening, say, wordsOf } from './said.ts'

export interface Plan {
  readonly order: Order
  readonly from: string
  readonly to: readonly [ip: string, port: number]
  /** Undefined: the client only ends. */
  readonly words: Opening | undefined
  /** Reads a little at a time. */
  readonly isSlow: boolean
  /** Sends one half, and continues on command. */
  readonly isStubborn: boolean
}

/** The outcome of a conversation for its client. Times are milliseconds since the epoch. */
export interface ConversationResult extends Pick<Plan, 'order' | 'isStubborn'> {
  /** The client's address and port, as announced to the backend. */
  readonly client: string
  readonly said: number
  readonly heard: HeardReport
  readonly ended: 'fin' | 'reset' | 'never'
  readonly reason: string | undefined
  readonly began: number
  readonly over: number
}

/** Milliseconds between two reads of a slow reader. */
const SLOW_MS = 3

/** One connection of a client, which sends nothing until `go`. */
export class Conversation {
  readonly ended: Promise<void>
  readonly #plan: Plan
  readonly #pool: Buffer
  readonly #socket: Socket
  readonly #heard: Heard
  readonly #began = Date.now()
  readonly #released = Promise.withResolvers<void>()
  readonly #heardEnd = Promise.withResolvers<void>()
  #client = ''
  #over = 0
  #reason: string | undefined

  constructor(plan: Plan, pool: Buffer) {
    this.#plan = plan
    this.#pool = pool
    this.#heard = new Heard(pool)
    const [host, port] = plan.to
    this.#socket = connect({ host, port, localAddress: plan.from, allowHalfOpen: true })
    this.#socket.once('connect', () => {
      this.#client = `${plan.from} ${this.#socket.localPort}`
    })
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#reason = error.code ?? error.message
    })
    this.ended = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.#over = Date.now()
        resolve()
      })
    })
  }

  /** Resolves when the connection is established or has failed. */
  get settled(): Promise<void> {
    if (!this.#socket.connecting) return Promise.resolve()
    return new Promise((resolve) => {
      this.#socket.once('connect', resolve).once('close', resolve)
    })
  }

  async go(): Promise<void> {
    this.#listen()
    if (this.#plan.order === 'server') await this.#heardEnd.promise
    const { words, isStubborn } = this.#plan
    const bytes = words ? wordsOf(this.#pool, words) : Buffer.alloc(0)
    const first = isStubborn ? bytes.length >> 1 : bytes.length
    if (first > 0) await say(this.#socket, bytes.subarray(0, first))
    if (isStubborn) {
      await this.#released.promise
      await say(this.#socket, bytes.subarray(first))
    }
    this.#socket.end()
  }

  release(): void {
    this.#released.resolve()
  }

  outcome(): ConversationResult {
    const { order, isStubborn, words } = this.#plan
    const ended = this.#over === 0 ? 'never' : this.#reason === undefined ? 'fin' : 'reset'
    return {
      order,
      isStubborn,
      ended,
      client: this.#client,
      reason: this.#reason,
      said: words?.length ?? 0,
      heard: this.#heard.report,
      began: this.#began,
      over: this.#over,
    }
  }

  abort(): void {
    this.#socket.destroy()
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('data', (chunk: Buffer) => {
      this.#heard.take(chunk)
      if (!this.#plan.isSlow) return
      socket.pause()
      setTimeout(() => socket.resume(), SLOW_MS)
    })
    socket.once('end', () => this.#heardEnd.resolve())
    socket.once('close', () => this.#heardEnd.resolve())
  }
}
