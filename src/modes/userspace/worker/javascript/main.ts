import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { resetSocket } from '../../../../kernel/relay/tcp-relay.ts'
import {
  hostKey,
  ipOf,
  portOf,
  type SocketAddress,
  socketAddress,
} from '../../../../kernel/sockets/socket-address.ts'
import { monotonicMs } from '../../../../lib/clock.ts'
import { Mutex } from '../../../../lib/mutex.ts'
import { admit } from '../admission.ts'
import type { BackendState } from '../backend-state.ts'
import { Dispatcher, MAINTENANCE_MS } from '../dispatcher.ts'
import type { Answer, ListenerOrder, Order, WorkerSetup } from '../messages.ts'
import { proxyHeader } from '../proxy-header.ts'
import { type ListenerAddress, listenerKey } from '../route-table.ts'
import type { Selection } from '../selection.ts'
import type { Session } from '../session-table.ts'
import { BufferPool, ReadBuffer } from './read-buffer.ts'
import {
  type ListenerParts,
  type OpenListener,
  openUdpListener,
  peerAddress,
} from './udp-listener.ts'

/** Milliseconds of silence after which the kernel sends a TCP keepalive probe. */
const KEEP_ALIVE_MS = 30_000

/** Options of both sockets of a TCP connection. */
const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
} as const

const BACKLOG = 4096

const LARGE_BUFFER_BYTES = 1 << 18
const MAX_LARGE_BUFFERS = 64

type Refused = NonNullable<Answer['refused']>

/** The life of a JavaScript worker, from its setup to the order to end, in Node's event loop. */
export function runJavascriptWorker(setup: WorkerSetup): void {
  const worker = new JavascriptWorker(setup)
  const turns = new Mutex()
  setup.port.on('message', (order: Order) => {
    void turns.run(() => worker.carryOut(order))
  })
}

class JavascriptWorker {
  readonly #setup: WorkerSetup
  readonly #dispatcher: Dispatcher
  readonly #parts: ListenerParts
  readonly #listeners = new Map<string, OpenListener>()
  readonly #maintenance: NodeJS.Timeout

  constructor(setup: WorkerSetup) {
    this.#setup = setup
    this.#dispatcher = new Dispatcher(setup)
    const { routeTable, sessionTable, selection } = this.#dispatcher
    this.#parts = {
      ...selection,
      routeTable,
      sessionTable,
      buffers: new BufferPool(LARGE_BUFFER_BYTES, MAX_LARGE_BUFFERS),
      connectMs: setup.limits.connectMs,
    }
    this.#maintenance = setInterval(() => {
      this.#dispatcher.runMaintenance(monotonicMs())
    }, MAINTENANCE_MS)
  }

  async carryOut(order: Order): Promise<void> {
    await this.#close((order.listeners?.close ?? []).map(listenerKey))
    this.#dispatcher.apply(order, monotonicMs())
    const refused = order.listeners && (await this.#open(order.listeners))
    const answer: Answer = { ...this.#dispatcher.answerTo(order), ...(refused && { refused }) }
    this.#setup.port.postMessage(answer)
    if (order.end) await this.#end()
  }

  async #open({ open }: ListenerOrder): Promise<Refused> {
    const results = await Promise.all(open.map((at) => this.#openListener(at)))
    return results.filter((result) => result !== undefined)
  }

  async #openListener(at: ListenerAddress): Promise<Refused[number] | undefined> {
    const openListener = at.protocol === 'TCP' ? openTcpListener : openUdpListener
    try {
      this.#listeners.set(listenerKey(at), await openListener(this.#parts, at))
      return undefined
    } catch (error) {
      const { code = String(error) } = error as NodeJS.ErrnoException
      return [listenerKey(at), code]
    }
  }

  async #close(keys: Iterable<string>): Promise<void> {
    const listeners = [...keys].flatMap((key) => {
      const listener = this.#listeners.get(key)
      this.#listeners.delete(key)
      return listener ?? []
    })
    await Promise.all(listeners.map((listener) => listener.close()))
  }

  /** Afterwards no handle keeps this thread alive. */
  async #end(): Promise<void> {
    clearInterval(this.#maintenance)
    await this.#close(this.#listeners.keys())
    this.#dispatcher.sessionTable.abortAll()
    this.#setup.port.close()
  }
}

/** Listens: every client gets a link to a backend, or a reset. Rejects when it cannot listen. */
async function openTcpListener(
  parts: ListenerParts,
  { ip, port }: ListenerAddress,
): Promise<OpenListener> {
  const server = createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true })
  const destination = socketAddress(ip, port)
  let accepted = 0
  server.on('connection', (socket) => {
    accepted++
    receive(parts, socket, destination)
  })
  const listening = once(server, 'listening')
  const options = { backlog: BACKLOG, ipv6Only: true, exclusive: true, reusePort: true }
  server.listen({ ...options, host: ip, port })
  await listening
  // An error of one accept (too many open files) concerns only that client.
  server.on('error', () => undefined)
  return {
    async close() {
      await untilStill(() => accepted)
      server.close()
    },
  }
}

/** Node accepts at least one client in each round of the event loop; resolves after the first round without one. */
async function untilStill(accepted: () => number): Promise<void> {
  let before = -1
  for (let round = 0; round <= BACKLOG && accepted() !== before; round++) {
    before = accepted()
    // The first call ends this round, the second one the next round.
    await setImmediate()
    await setImmediate()
  }
}

function receive(parts: ListenerParts, socket: Socket, destination: SocketAddress): void {
  const { remoteAddress, remotePort } = socket
  const client = peerAddress(remoteAddress, remotePort)
  const selection =
    client && admit(parts, 'TCP', { side: 'others', client, destination, now: monotonicMs() })
  if (selection) new TcpLink(parts, socket, selection).begin()
  else socket.on('error', () => undefined).resetAndDestroy()
}

/** One client's TCP connection and the one to its backend. */
class TcpLink implements Session {
  readonly protocol = 'TCP'
  readonly client: string
  lastActive = monotonicMs()
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

  /** `socket` is the client's; it is not read before a backend has accepted. */
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
    const state = this.#selection.next(monotonicMs())
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
      ...SOCKET_OPTIONS,
      host: ipOf(address),
      port: portOf(address),
      onread: {
        buffer: () => buffer.current,
        callback: (length, bytes) => {
          this.#answered(bytes.subarray(0, length))
          return true
        },
      },
    })
  }

  /** Until this backend has accepted the client, another one may be tried; after that it cannot be replaced. */
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
    if (state) this.#selection.failed(state, monotonicMs())
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
    this.lastActive = monotonicMs()
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

/**
 * One direction of a connection: from a source to a sink, at the speed of the slower one. While the sink's kernel does
 * not accept all bytes, the source is not read.
 */
class OneWay {
  readonly #source: Socket
  readonly #sink: Socket
  readonly #onMoved: (bytes: number) => void
  #isWaiting = false

  constructor(source: Socket, sink: Socket, onMoved: (bytes: number) => void) {
    this.#source = source
    this.#sink = sink
    this.#onMoved = onMoved
    source.once('end', () => sink.end())
  }

  /** Whether the sink has accepted everything, so that the bytes may be overwritten. */
  get isClear(): boolean {
    return !this.#isWaiting
  }

  /** Passes on what the source sent. */
  pass(bytes: Uint8Array): void {
    this.#onMoved(bytes.length)
    this.#sink.write(bytes, this.#taken)
    if (this.#sink.writableLength === 0 || this.#isWaiting) return
    this.#isWaiting = true
    this.#source.pause()
  }

  /** The sink has accepted bytes: goes on reading when it has accepted all, which counts as activity. */
  readonly #taken = (): void => {
    if (!this.#isWaiting || this.#sink.writableLength > 0) return
    this.#isWaiting = false
    this.#onMoved(0)
    this.#source.resume()
  }
}
