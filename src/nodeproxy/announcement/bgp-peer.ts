import { connect, type Socket } from 'node:net'
import type { Routes } from '../../announcement/bgp/routes.ts'
import {
  Session,
  type SessionAction,
  type SessionSettings,
} from '../../announcement/bgp/session.ts'
import type { Clock } from '../../lib/clock.ts'
import { systemCode } from '../../lib/error.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'

/** How long the end of a connection may take, in milliseconds, until what was sent has arrived. */
const END_MS = 1_000
/** Octets that may wait for a peer that does not read them: ten thousand routes are a fifth of this. */
const MAX_UNSENT = 1 << 20

const ENDED =
  'it ends connections: see whether it has this node as a neighbor, or waits after an error'
/** What the codes of the system mean for a peer, as ends of sentences. */
const FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refuses connections: no BGP speaker listens there',
  ECONNRESET: ENDED,
  EHOSTUNREACH: 'it does not answer on its network',
  ENETUNREACH: 'this node has no route to it',
  ETIMEDOUT: 'it does not answer',
  EADDRNOTAVAIL: 'its sourceAddress is no address of this node',
  EPIPE: ENDED,
}

/** A router, and how it is reached. */
export interface PeerSettings extends SessionSettings {
  readonly address: IpAddress
  readonly port: number
  /** Empty: the address by which this node reaches the router. */
  readonly sourceAddress: string
}

/** What `BgpPeer` uses. */
export interface BgpPeerParts {
  readonly settings: PeerSettings
  readonly clock: Pick<Clock, 'after'>
  /** Milliseconds of the monotonic clock. */
  readonly monotonic: () => number
  /** Called when the state of the session or its failure changed. */
  readonly onChange: (peer: BgpPeer) => void
}

/** The session with one router, over TCP. */
export class BgpPeer {
  readonly settings: PeerSettings
  readonly session: Session
  readonly #parts: BgpPeerParts
  #socket: Socket | undefined
  #localAddress: IpAddress | undefined
  #cancel: () => void = () => undefined
  readonly #ends = new Set<Promise<void>>()

  constructor(parts: BgpPeerParts) {
    this.#parts = parts
    this.settings = parts.settings
    this.session = new Session(parts.settings)
  }

  /** The address of this node in the connection; undefined: there is none. */
  get localAddress(): IpAddress | undefined {
    return this.#localAddress
  }

  start(): void {
    this.#follow((now) => this.session.step(now))
  }

  /** Replaces the routes to advertise. */
  advertise(routes: Routes): void {
    this.#follow(() => this.session.advertise(routes))
  }

  /** Withdraws all routes and ends the session; resolves when the peer has read that, at the latest after a second. */
  async stop(cause: Parameters<Session['stop']>[0]): Promise<void> {
    this.#follow((now) => this.session.stop(cause, now))
    await Promise.all(this.#ends)
  }

  /** Passes an event to the session, does the actions that it returns, and schedules its next step. */
  #follow(event: (now: number) => readonly SessionAction[]): void {
    const { clock, monotonic, onChange } = this.#parts
    const { state, failure } = this.session
    for (const action of event(monotonic())) this.#do(action)
    this.#cancel()
    const { nextAt } = this.session
    if (Number.isFinite(nextAt)) {
      this.#cancel = clock.after(nextAt - monotonic(), () => this.start())
    }
    if (this.session.state !== state || this.session.failure !== failure) onChange(this)
  }

  #do(action: SessionAction): void {
    if (action.kind === 'connect') this.#connect()
    else if (action.kind === 'close') this.#close()
    else this.#socket?.write(action.octets)
  }

  #connect(): void {
    const { address, port, sourceAddress } = this.settings
    const socket = connect({
      host: address,
      port,
      noDelay: true,
      ...(sourceAddress !== '' && { localAddress: sourceAddress }),
    })
    this.#socket = socket
    const isCurrent = () => this.#socket === socket
    const lost = (reason: string) => {
      if (isCurrent()) this.#follow((now) => this.session.disconnected(reason, now))
    }
    socket.on('connect', () => {
      this.#localAddress = parseIp(socket.localAddress ?? '')
      this.#follow((now) => this.session.connected(now))
    })
    socket.on('data', (octets: Buffer) => {
      if (!isCurrent()) return
      if (socket.writableLength > MAX_UNSENT) return lost('it does not read what is sent to it')
      this.#follow((now) => this.session.receive(octets, now))
    })
    socket.on('error', (error) => {
      const code = systemCode(error)
      lost(FAILURES[code] ?? `the connection failed: ${code}`)
    })
    socket.on('end', () => lost(ENDED))
    socket.on('close', () => lost(ENDED))
  }

  /** Ends the connection after what was written to it. */
  #close(): void {
    const socket = this.#socket
    this.#socket = undefined
    this.#localAddress = undefined
    if (socket === undefined || socket.destroyed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#parts.clock.after(END_MS, () => socket.destroy())
    socket.on('close', () => {
      cancel()
      this.#ends.delete(promise)
      resolve()
    })
    this.#ends.add(promise)
    if (socket.connecting) socket.destroy()
    else socket.end()
  }
}
