import type { Socket } from 'node:net'
import { afterAnswers, attempt, attemptTcp } from './attempt.ts'
import type { ConnectOutcome, ConnectRequest, LoadReport, TimedReport } from './protocol.ts'

const KEPT_FAILURES = 100

/** Source ports below the ephemeral range, used in turn, so that none is used again while a table remembers it. */
const PORTS = { first: 1100, count: 8900 } as const
let portsGiven = 0
const nextPort = (): number => PORTS.first + (portsGiven++ % PORTS.count)

/** Makes the requested number of connections, several at a time; stops early when enough was seen. */
export async function connectMany(request: ConnectRequest): Promise<ConnectOutcome[]> {
  const outcomes: ConnectOutcome[] = []
  const seen = new Set<string>()
  const wanted = request.attempts ?? 1
  let started = 0
  const enough = (): boolean =>
    request.untilDistinct !== undefined && seen.size >= request.untilDistinct
  const worker = async (): Promise<void> => {
    while (started < wanted && !enough()) {
      started++
      const outcome = await attempt(request)
      outcomes.push(outcome)
      if (outcome.kind === 'answered') seen.add(outcome.name)
    }
  }
  await Promise.all(Array.from({ length: Math.min(request.parallel ?? 8, wanted) }, worker))
  return outcomes
}

/** The requested number of connections, several at a time: those that were not answered, with their times. */
export async function connectTimed(request: ConnectRequest): Promise<TimedReport> {
  const wanted = request.attempts ?? 1
  const unanswered: TimedReport['unanswered'][number][] = []
  let started = 0
  const worker = async (): Promise<void> => {
    while (started < wanted) {
      started++
      const from = Date.now()
      const outcome = await attempt(request)
      if (outcome.kind !== 'answered') unanswered.push({ outcome, from, to: Date.now() })
    }
  }
  await Promise.all(Array.from({ length: Math.min(request.parallel ?? 8, wanted) }, worker))
  return { attempts: wanted, unanswered }
}

/** One connection from each source, from a port that neither IPVS nor conntrack remembers. */
export async function connectEach(
  request: Omit<ConnectRequest, 'source' | 'sourcePort'> & { readonly sources: readonly string[] },
): Promise<ConnectOutcome[]> {
  const outcomes: ConnectOutcome[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < request.sources.length; index = next++) {
      const from = { source: request.sources[index] ?? '', sourcePort: nextPort() }
      outcomes[index] = await attempt({ ...request, ...from })
    }
  }
  await Promise.all(Array.from({ length: request.parallel ?? 8 }, worker))
  return outcomes
}

/** Connections that stay open between two calls. */
export class KeptConnections {
  readonly #sockets: Socket[] = []

  async open(request: ConnectRequest): Promise<{ id: number; outcome: ConnectOutcome }> {
    const { socket, outcome } = await attemptTcp(request)
    socket.on('error', () => socket.destroy())
    return { id: this.#sockets.push(socket) - 1, outcome }
  }

  /** Ends all of them. */
  reset(): null {
    for (const socket of this.#sockets) socket.resetAndDestroy()
    return null
  }

  /** Sends a byte and awaits its echo. */
  ping(id: number, timeoutMs: number): Promise<boolean> {
    const socket = this.#sockets[id]
    if (socket === undefined || socket.destroyed) return Promise.resolve(false)
    return new Promise((resolve) => {
      const settle = (alive: boolean): void => {
        cancel()
        socket.removeListener('data', onData)
        resolve(alive)
      }
      const onData = (): void => settle(true)
      const cancel = afterAnswers(timeoutMs, () => settle(false))
      socket.on('data', onData)
      socket.write('.')
    })
  }
}

/** Connects at a steady rate until stopped, whatever the answers. */
export class Load {
  readonly #startedAt = performance.now()
  readonly #running = new Set<Promise<void>>()
  readonly #answers: Record<string, number> = {}
  readonly #failures: { afterMs: number; outcome: ConnectOutcome }[] = []
  readonly #timer: NodeJS.Timeout
  #attempts = 0
  #enough: { readonly attempts: number; resolve(): void } | undefined
  #failed = 0

  constructor(request: ConnectRequest, intervalMs: number) {
    this.#timer = setInterval(() => this.#start(request), intervalMs)
  }

  /** Stops after at least this number of attempts. */
  async stop(atLeast: number): Promise<LoadReport> {
    if (this.#attempts < atLeast) {
      await new Promise<void>((resolve) => {
        this.#enough = { attempts: atLeast, resolve }
      })
    }
    clearInterval(this.#timer)
    await Promise.all(this.#running)
    return {
      attempts: this.#attempts,
      failed: this.#failed,
      failures: this.#failures,
      answers: this.#answers,
    }
  }

  #start(request: ConnectRequest): void {
    this.#attempts++
    if (this.#attempts === this.#enough?.attempts) this.#enough.resolve()
    const afterMs = Math.round(performance.now() - this.#startedAt)
    const ongoing = attempt({ ...request, sourcePort: nextPort() }).then((outcome) => {
      this.#running.delete(ongoing)
      this.#count(outcome, afterMs)
    })
    this.#running.add(ongoing)
  }

  #count(outcome: ConnectOutcome, afterMs: number): void {
    if (outcome.kind === 'answered') {
      this.#answers[outcome.name] = (this.#answers[outcome.name] ?? 0) + 1
      return
    }
    this.#failed++
    if (this.#failures.length < KEPT_FAILURES) this.#failures.push({ afterMs, outcome })
  }
}
