import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { attemptTcp } from './attempt.ts'
import type { ConnectOutcome, ConnectRequest, HeldReport } from './protocol.ts'

/** Milliseconds that an echo may take before its connection counts as lost. */
const ECHO_MS = 3000

interface Held {
  readonly socket: Socket
  readonly name: string
  heardAt: number
  awaited: number
}

/**
 * Long-lived connections that send a byte periodically and receive its echo, until they are ended from here. A
 * connection that ends in another way, or gets no echo, is lost.
 */
export class HeldConnections {
  readonly #startedAt = performance.now()
  readonly #held = new Set<Held>()
  readonly #lost: { name: string; afterMs: number; how: string }[] = []
  readonly #refused: ConnectOutcome[] = []
  readonly #timer: NodeJS.Timeout
  #echoes = 0

  private constructor(everyMs: number) {
    this.#timer = setInterval(() => this.#speak(), everyMs)
  }

  /** Opens them one after the other. */
  static async open(
    request: ConnectRequest,
    { count, everyMs }: { readonly count: number; readonly everyMs: number },
  ): Promise<HeldConnections> {
    const all = new HeldConnections(everyMs)
    for (let opened = 0; opened < count; opened++) await all.#add(request)
    return all
  }

  /** Reports after an exchange on each connection; a connection without an answer in time is lost. */
  async check(): Promise<HeldReport> {
    const silent = new Set(this.#held)
    const echoes = [...silent].map((held) => this.#echoed(held).then(() => silent.delete(held)))
    await Promise.race([Promise.all(echoes), delay(ECHO_MS)])
    for (const held of silent) this.#lose(held, 'silent')
    return this.report()
  }

  report(): HeldReport {
    const alive: Record<string, number> = {}
    for (const { name } of this.#held) alive[name] = (alive[name] ?? 0) + 1
    return { alive, lost: this.#lost, refused: this.#refused, echoes: this.#echoes }
  }

  /** Ends the remaining connections, all or those of one listener. The report describes the state before. */
  end(how: 'reset' | 'close', name?: string): HeldReport {
    const report = this.report()
    for (const held of this.#held) {
      if (name !== undefined && held.name !== name) continue
      this.#held.delete(held)
      held.socket.removeAllListeners('close')
      if (how === 'reset') held.socket.resetAndDestroy()
      else held.socket.end()
    }
    if (this.#held.size === 0) clearInterval(this.#timer)
    return report
  }

  async #add(request: ConnectRequest): Promise<void> {
    const { socket, outcome } = await attemptTcp(request)
    socket.on('error', () => {})
    if (outcome.kind !== 'answered') {
      this.#refused.push(outcome)
      socket.destroy()
      return
    }
    const held = { socket, name: outcome.name, heardAt: performance.now(), awaited: 0 }
    this.#held.add(held)
    socket.on('data', (bytes: Buffer) => {
      held.heardAt = performance.now()
      held.awaited -= bytes.length
      this.#echoes += bytes.length
    })
    socket.on('close', () => this.#lose(held, socket.errored === null ? 'closed' : codeOf(socket)))
  }

  /** Resolves when all awaited echoes have arrived, or when the connection is lost. */
  #echoed(held: Held): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const onData = (): void => {
      if (held.awaited > 0) return
      held.socket.off('data', onData)
      resolve()
    }
    held.socket.on('data', onData)
    held.socket.once('close', () => resolve())
    this.#say(held, performance.now())
    return promise
  }

  #speak(): void {
    const now = performance.now()
    for (const held of this.#held) {
      if (held.awaited > 0 && now - held.heardAt > ECHO_MS) this.#lose(held, 'silent')
      else this.#say(held, now)
    }
  }

  #say(held: Held, now: number): void {
    if (held.awaited === 0) held.heardAt = now
    held.awaited++
    held.socket.write('.')
  }

  #lose(held: Held, how: string): void {
    if (!this.#held.delete(held)) return
    const afterMs = Math.round(performance.now() - this.#startedAt)
    this.#lost.push({ name: held.name, afterMs, how })
    held.socket.destroy()
  }
}

function codeOf({ errored }: Socket): string {
  const error: NodeJS.ErrnoException | null = errored
  return error?.code ?? String(error)
}
