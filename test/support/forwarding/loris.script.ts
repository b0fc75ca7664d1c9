import { connect, type Socket } from 'node:net'
import { paced, pacedTimes } from './paced.ts'
import { serveCalls } from './serve-calls.ts'
import { clientAddress, FRONTEND } from './stage.ts'

/** A few clients with very many connections, on which they sometimes send a byte, or which they reset at once. */
export type LorisCalls = typeof calls

export interface Swarm {
  readonly port: number
  readonly count: number
  /** The number of client addresses that the connections share. */
  readonly addresses: number
  /** Bytes per second of all connections together. */
  readonly bytesPerSecond: number
}

const OPENED_PER_SECOND = 4_000
const sockets = new Set<Socket>()
const state = { stop: () => {}, resets: 0 }

function open(port: number, localAddress: string): Socket {
  const socket = connect({ host: FRONTEND, port, localAddress })
  sockets.add(socket)
  socket.on('error', () => undefined)
  socket.once('close', () => sockets.delete(socket))
  return socket.resume()
}

function sayInTurn(): () => void {
  let turn = sockets.values()
  return () => {
    const next = turn.next().value
    if (next) next.write('x')
    else turn = sockets.values()
  }
}

const calls = {
  /** Resolves when all have been tried. */
  async hold({ port, count, addresses, bytesPerSecond }: Swarm) {
    let index = 0
    const settled: Promise<unknown>[] = []
    await pacedTimes(count, OPENED_PER_SECOND, () => {
      const socket = open(port, clientAddress(index++ % addresses))
      const opened = new Promise((resolve) => {
        socket.once('connect', resolve).once('close', resolve)
      })
      settled.push(opened)
    })
    await Promise.all(settled)
    state.stop = paced(bytesPerSecond, sayInTurn())
  },
  held: () => sockets.size,
  letGo() {
    state.stop()
    for (const socket of sockets) socket.resetAndDestroy()
  },
  startResets({ port, perSecond }: Record<'port' | 'perSecond', number>) {
    let index = 0
    state.stop = paced(perSecond, () => {
      const socket = open(port, clientAddress(index++ % 4))
      socket.once('connect', () => {
        state.resets++
        socket.resetAndDestroy()
      })
    })
  },
  stopResets() {
    state.stop()
    return state.resets
  },
}

serveCalls(calls)
