import { createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { BACKEND_PORTS } from './frontends.ts'
import { Heard, type HeardReport } from './heard.ts'
import { ORDERS, type Order } from './order.ts'
import { createPool, offsetsFor, say, wordsOf } from './said.ts'
import { seeded, someLength } from './seeded.ts'
import { sendNews, serveCalls } from './serve-calls.ts'

/** What a backend reports about a connection: when it knows the client, and when the connection ends. */
export type BackendNews =
  | {
      readonly kind: 'accepted'
      readonly who: number
      readonly client: string
      /** Milliseconds since the epoch. */
      readonly at: number
    }
  | ({ readonly kind: 'over'; readonly who: number; readonly serial: number } & BackendOutcome)

export interface BackendOutcome {
  readonly heard: HeardReport
  readonly ended: 'fin' | 'reset'
}

const SLOW_MS = 3

const [, , address = '', index = ''] = process.argv
const who = Number(index)
const pool = createPool()
const dice = seeded(who)
const serials = { last: 0, open: 0 }

function serve(socket: Socket, order: Order): void {
  const serial = ++serials.last
  serials.open++
  const isSlow = dice(10) === 0
  const heard = new Heard(pool)
  let reason: string | undefined
  const speak = async () => {
    const length = someLength(dice)
    await say(socket, wordsOf(pool, { who, serial, offset: dice(offsetsFor(length)), length }))
    socket.end()
  }
  const take = order === 'client' ? afterProxyLine((chunk) => heard.take(chunk)) : null
  socket.on('data', (chunk: Buffer) => {
    if (take) take(chunk)
    else heard.take(chunk)
    if (!isSlow) return
    socket.pause()
    setTimeout(() => socket.resume(), SLOW_MS)
  })
  if (order === 'client') socket.once('end', () => void speak())
  else void speak()
  socket.on('error', ({ message }) => (reason = message))
  socket.once('close', () => {
    const ended = reason === undefined ? 'fin' : 'reset'
    serials.open--
    sendNews({ kind: 'over', who, serial, heard: heard.report, ended } satisfies BackendNews)
  })
}

/** Removes the first line, which names the client (PROXY protocol, version 1). */
function afterProxyLine(next: (chunk: Buffer) => void): (chunk: Buffer) => void {
  let start = Buffer.alloc(0)
  let isKnown = false
  return (chunk) => {
    if (isKnown) return next(chunk)
    start = Buffer.concat([start, chunk])
    const end = start.indexOf('\r\n')
    if (end < 0) return
    isKnown = true
    const [, , ip = '', , port = ''] = start.toString('latin1', 0, end).split(' ')
    const client = `${ip} ${port}`
    sendNews({ kind: 'accepted', who, client, at: Date.now() } satisfies BackendNews)
    if (start.length > end + 2) next(start.subarray(end + 2))
  }
}

for (const order of ORDERS) {
  const server = createServer({ allowHalfOpen: true }, (socket) => serve(socket, order))
  server.listen({ host: address, port: BACKEND_PORTS[order], backlog: 2048 })
  await new Promise((resolve) => server.once('listening', resolve))
}

const calls = {
  /** Waits, with a timeout, until the last connection has ended. */
  async untilIdle(): Promise<number> {
    for (const deadline = Date.now() + 10_000; Date.now() < deadline && serials.open > 0; ) {
      await delay(5)
    }
    return serials.open
  },
}
export type ListenerCalls = typeof calls
serveCalls(calls)
