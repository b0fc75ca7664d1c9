import { setTimeout as delay } from 'node:timers/promises'
import {
  AF_INET,
  checked,
  libc,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  socketAddress,
} from '../lab/libc.ts'
import { toNumber } from '../lab/plan.ts'
import type { Load } from '../report/masquerade/results.ts'
import type { Client } from './addresses.ts'

/** The order for the process of the clients, which take turns. */
export interface LoadOrder extends Omit<Load, 'clients'> {
  readonly clients: readonly Client[]
  readonly port: number
  /** The timeout of one connection. */
  readonly timeoutMs: number
}

/** The outcomes of the connections. */
export interface LoadReport {
  readonly connections: number
  readonly failures: number
  /** Seconds until the last connection was started. */
  readonly tookSeconds: number
}

interface Connection {
  readonly socket: number
  readonly deadline: number
  isServed: boolean
}

const TICK_MS = 5
/** The most connections started at once after a delay; with more, finding a free port would take longer. */
const MAX_AT_ONCE = 50
const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const ONE = Buffer.from([1, 0, 0, 0])
const received = Buffer.alloc(16)

const report = await perform(JSON.parse(process.argv[2] ?? '') as LoadOrder)
process.stdout.write(`${JSON.stringify(report)}\n`)

/** Connects at an even rate, without waiting for earlier connections. */
async function perform({ clients, timeoutMs, ...order }: LoadOrder): Promise<LoadReport> {
  const open = new Set<Connection>()
  let failures = 0
  let tookSeconds = 0
  const connections = order.perSecond * order.seconds
  const began = performance.now()
  for (let sent = 0; sent < connections || open.size > 0; await delay(TICK_MS)) {
    const now = performance.now()
    const due = Math.min(connections, ((now - began) / 1_000) * order.perSecond, sent + MAX_AT_ONCE)
    for (; sent < due; sent++) {
      const client = clients[sent % clients.length]
      if (client === undefined) continue
      open.add({ socket: begin(client, order), deadline: now + timeoutMs, isServed: false })
      tookSeconds = (performance.now() - began) / 1_000
    }
    for (const one of open) {
      if (!isOver(one)) continue
      open.delete(one)
      libc.close(one.socket)
      if (!one.isServed) failures++
    }
  }
  return { connections, failures, tookSeconds }
}

/** Begins a connection. Binds as Node does, with SO_REUSEADDR. */
function begin(
  { source, node }: Client,
  { port, binds }: Pick<LoadOrder, 'port' | 'binds'>,
): number {
  const kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC
  const socket = checked(libc.socket(AF_INET, kind, 0), 'socket')
  if (binds) {
    libc.setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, ONE, ONE.length)
    const address = socketAddress(toNumber(source), 0)
    checked(libc.bind(socket, address, address.length), 'bind')
  }
  const address = socketAddress(toNumber(node), port)
  libc.connect(socket, address, address.length)
  return socket
}

/** Whether the server has closed the connection. It closes first, so that its side keeps the TIME_WAIT. */
function isOver(one: Connection): boolean {
  for (;;) {
    const length = Number(libc.recv(one.socket, received, BigInt(received.length), 0))
    if (length < 0) return performance.now() > one.deadline
    if (length === 0) return true
    one.isServed = true
  }
}
