import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { pacedTimes } from './paced.ts'
import { serveCalls } from './serve-calls.ts'
import { clientAddress, FRONTEND } from './stage.ts'

/** Honest clients, which measure how long they wait. */
export type ProberCalls = typeof calls

/** Milliseconds until the slowest hundredth was answered, and how many never were. */
export interface Waits {
  readonly p99: number
  readonly failures: number
}

const CLIENTS = 50
const FIRST_CLIENT = 100
const PER_SECOND = 800
/** One in this many requests uses a new connection, the others use open ones. */
const NEW_EVERY = 4
const kept: Socket[] = []

function open(port: number, index: number): Socket {
  const localAddress = clientAddress(FIRST_CLIENT + index)
  return connect({ host: FRONTEND, port, localAddress, noDelay: true })
}

/** Milliseconds from now until the answer; throws when there is none. */
async function wait(socket: Socket, begin: number): Promise<number> {
  socket.write('x')
  await once(socket, 'data')
  return performance.now() - begin
}

async function connectAnd(port: number, index: number): Promise<number> {
  const begin = performance.now()
  const socket = open(port, index)
  try {
    return await wait(socket, begin)
  } finally {
    socket.resetAndDestroy()
  }
}

function slowest(waits: readonly number[]): number {
  const sorted = waits.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY
}

const calls = {
  /** Opens connections, and keeps them. */
  async keep({ port, count }: Record<'port' | 'count', number>) {
    for (let index = 0; index < count; index++) {
      const socket = open(port, index)
      kept.push(socket)
      await wait(socket, 0)
    }
  },
  /** Requests on kept connections, and new connections among them. */
  async measure({ port, count }: Record<'port' | 'count', number>): Promise<Waits> {
    const waits: number[] = []
    const idle = [...kept]
    const all: Promise<void>[] = []
    let index = 0
    let failures = 0
    const note = (waiting: Promise<number>) =>
      waiting.then(
        (ms) => void waits.push(ms),
        () => void failures++,
      )
    await pacedTimes(count, PER_SECOND, () => {
      const socket = index++ % NEW_EVERY > 0 ? idle.shift() : undefined
      if (socket) {
        const waiting = wait(socket, performance.now())
        all.push(note(waiting).then(() => void idle.push(socket)))
      } else all.push(note(connectAnd(port, index % CLIENTS)))
    })
    await Promise.all(all)
    return { p99: slowest(waits), failures }
  },
  /** `refused` or `connected`. */
  async tryConnect(port: number): Promise<string> {
    const socket = open(port, 0)
    const result = await once(socket, 'connect').then(
      () => 'connected',
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    )
    socket.destroy()
    return result
  },
  /** Whether a datagram of this size is echoed unchanged; repeats until one is. */
  async echo({ port, bytes }: Record<'port' | 'bytes', number>): Promise<boolean> {
    const socket = createSocket('udp4')
    const payload = Buffer.alloc(bytes, 'np')
    const again = setInterval(() => socket.send(payload, port, FRONTEND), 200)
    const timeout = setTimeout(() => socket.emit('message', Buffer.alloc(0)), 10_000)
    const [answer] = (await once(socket, 'message')) as [Buffer]
    clearInterval(again)
    clearTimeout(timeout)
    socket.close()
    return answer.equals(payload)
  },
}

serveCalls(calls)
