import { connect, type Socket } from 'node:net'
import { resetSocket } from '../../../../kernel/relay/reset-socket.ts'
import { hostKey, ipOf, portOf } from '../../../../kernel/sockets/socket-address.ts'
import type { BackendState } from '../backend-state.ts'
import { proxyHeader } from '../proxy-header.ts'
import type { Selection } from '../selection.ts'
import type { Session } from '../session.ts'
import { OneWay } from './one-way.ts'
import type { ListenerParts } from './open-listener.ts'
import { ReadBuffer } from './read-buffer.ts'

/** Milliseconds of silence after which the kernel sends a TCP keepalive probe. */
const KEEP_ALIVE_MS = 30_000

/** Options of both sockets of a TCP connection. */
export const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
} as const

/** One client's TCP connection and the one to its backend. */
export class TcpLink implements Session {
  readonly protocol = 'TCP'
  readonly client: string
  lastActive = Date.now()
  bytesIn = 0
  bytesOut = 0
  readonly #parts: ListenerParts
  readonly #socket: Socket
  readonly #selection: Selection
  #server: Socket | undefined
  #state: BackendState | undefined
  #timer: NodeJS.Timeout | undefined
  #buffer: ReadBuffer | undefined
  #down: OneWay | undefined
  #isOver = false

  /** `socket` is the client's, which is not read before a backend has taken it. */
  constructor(parts: ListenerParts, socket: Socket, selection: Selection) {
    this.#parts = parts
    this.#socket = socket
    this.#selection = selection
    this.client = hostKey(selection.request.client)
  }

  /** Tries the first backend. */
  begin(): void {
    this.#socket.on('error', () => this.abort()).on('close', () => this.#closed())
    this.#parts.sessionTable.add(this)
    this.#tryNext()
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    resetSocket(this.#socket)
    if (this.#server) resetSocket(this.#server)
    this.#finish()
  }

  #tryNext(): void {
    const state = this.#selection.next(Date.now())
    if (state === undefined) {
      this.#parts.counters.add('unserved')
      this.abort()
      return
    }
    this.#state = state
    state.sessions.add(this)
    const server = this.#connect(state)
    this.#server = server
    server.on('error', () => this.#broken(server)).on('close', () => this.#closed())
    server.once('connect', () => this.#established(server, state))
    this.#timer = setTimeout(() => this.#broken(server), this.#parts.connectMs)
  }

  #connect({ address }: BackendState): Socket {
    const buffer = new ReadBuffer(this.#parts.buffers)
    this.#buffer = buffer
    return connect({
      ...{ ...SOCKET_OPTIONS, host: ipOf(address), port: portOf(address) },
      onread: {
        buffer: () => buffer.current,
        callback: (length, bytes) => {
          this.#answered(bytes.subarray(0, length))
          return true
        },
      },
    })
  }

  /** Until this backend has taken the client, another one may; after that, none can replace it. */
  #broken(server: Socket): void {
    if (this.#isOver || server !== this.#server) return
    if (this.#down) this.abort()
    else this.#failed(server)
  }

  #failed(server: Socket): void {
    const state = this.#state
    this.#server = undefined
    server.destroy()
    this.#leaveState()
    if (state) this.#selection.failed(state, Date.now())
    this.#tryNext()
  }

  #established(server: Socket, state: BackendState): void {
    if (server !== this.#server) return
    clearTimeout(this.#timer)
    const client = this.#socket
    state.succeeded()
    state.began()
    const { request } = this.#selection
    const { proxyProtocol } = request.match.served.route
    if (proxyProtocol) server.write(proxyHeader(proxyProtocol, request))
    this.#down = new OneWay(server, client, (bytes) => this.#moved('bytesOut', bytes))
    const up = new OneWay(client, server, (bytes) => this.#moved('bytesIn', bytes))
    client.on('data', (bytes: Uint8Array) => up.pass(bytes))
    client.resume()
  }

  #answered(bytes: Uint8Array): void {
    this.#down?.pass(bytes)
    if (this.#down?.isClear) this.#buffer?.fit(bytes.length)
  }

  #moved(count: 'bytesIn' | 'bytesOut', bytes: number): void {
    this.lastActive = Date.now()
    this[count] += bytes
    this.#parts.counters.add(count, bytes)
  }

  /** Each socket closes by itself once it has sent and received its FIN. */
  #closed(): void {
    if (this.#isOver || !this.#socket.closed || !this.#server?.closed) return
    this.#isOver = true
    this.#finish()
  }

  #finish(): void {
    this.#leaveState()
    this.#buffer?.release()
    this.#parts.sessionTable.remove(this)
  }

  #leaveState(): void {
    clearTimeout(this.#timer)
    this.#state?.leave(this)
    this.#state = undefined
  }
}
