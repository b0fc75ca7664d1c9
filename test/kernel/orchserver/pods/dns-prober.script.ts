import { createSocket, type Socket } from 'node:dgram'
import { decode, encode } from 'dns-packet'

/**
 * Queries a DNS server every 10 ms, by two clients: one keeps its port, so its packets are one flow of connection
 * tracking; the other has a port of its own for each question. Prints a line when both have an answer. After
 * SIGTERM it waits until both are answered once more, or half a minute, and prints how long each was without an answer
 * at most, in milliseconds, and how many answers it got.
 */
const [address = '', name = ''] = process.argv.slice(2)
const PERIOD_MS = 10
const LIFE_MS = 2_000
const LAST_WAIT_MS = 30_000

class Prober {
  answers = 0
  wrong = 0
  #longest = 0
  #last = 0

  /** A question was answered now. */
  answered(message: Buffer): void {
    const isRight = decode(message).answers?.some((answer) => answer.type === 'A') === true
    if (!isRight) {
      this.wrong += 1
      return
    }
    const now = performance.now()
    if (this.answers > 0) this.#longest = Math.max(this.#longest, now - this.#last)
    this.#last = now
    this.answers += 1
  }

  /** Whether a question was answered after a time of the monotonic clock, in milliseconds. */
  isAnsweredAfter(time: number): boolean {
    return this.#last > time
  }

  report() {
    const longestMs = Math.max(this.#longest, performance.now() - this.#last)
    return { answers: this.answers, wrong: this.wrong, longestMs: Math.round(longestMs) }
  }
}

const steady = new Prober()
const fresh = new Prober()
const socket = createSocket('udp4')
socket.on('message', (message) => steady.answered(message))
socket.on('error', () => undefined)

function send(from: Socket): void {
  const questions = [{ type: 'A', name } as const]
  from.send(
    encode({ id: Math.floor(Math.random() * 65_536), flags: 0x0100, questions }),
    53,
    address,
  )
}

function sendFresh(): void {
  const own = createSocket('udp4')
  own.on('error', () => undefined)
  own.on('message', (message) => fresh.answered(message))
  send(own)
  setTimeout(() => own.close(), LIFE_MS)
}

let isReported = false
let stoppedAt = Number.POSITIVE_INFINITY
setInterval(() => {
  send(socket)
  sendFresh()
  if (!isReported && steady.answers > 0 && fresh.answers > 0) {
    isReported = true
    process.stdout.write('both are answered\n')
  }
  const areAnswered = steady.isAnsweredAfter(stoppedAt) && fresh.isAnsweredAfter(stoppedAt)
  if (areAnswered || performance.now() > stoppedAt + LAST_WAIT_MS) end()
}, PERIOD_MS)

process.once('SIGTERM', () => {
  stoppedAt = performance.now()
})

function end(): never {
  process.stdout.write(`${JSON.stringify({ steady: steady.report(), fresh: fresh.report() })}\n`)
  process.exit(0)
}
