import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { familyOf, hostPort } from '../../lib/ip.ts'
import type { RelayEnvironment, RelayServer } from './relay-server.ts'
import type { Relay, RelayAddress } from './relays.ts'

/** Datagrams that wait until the socket is connected, which takes a turn of the event loop. */
const QUEUE = 64

/**
 * Listens and opens for every client a separate socket to the target, so that answers find their way back. Rejects if
 * it cannot listen.
 */
export async function openUdpRelay(
  relay: Relay,
  environment: RelayEnvironment,
): Promise<RelayServer> {
  const { ip, port } = relay.listen
  const type = familyOf(ip) === 6 ? 'udp6' : 'udp4'
  const socket = createSocket({ type, ipv6Only: type === 'udp6' })
  const listening = once(socket, 'listening')
  socket.bind({ address: ip, port, exclusive: true })
  try {
    await listening
  } catch (error) {
    socket.close()
    throw error
  }
  return serve(socket, relay.target, environment)
}

function serve(socket: Socket, first: RelayAddress, environment: RelayEnvironment): RelayServer {
  let target = first
  const flows = new ClientFlows(environment)
  socket.on('error', () => undefined)
  socket.on('message', (datagram, client) => {
    if (client.port === 0) return
    const answer = (bytes: Buffer) => {
      flows.touch(key)
      socket.send(bytes, client.port, client.address, () => undefined)
    }
    const key = hostPort(client.address, client.port)
    const flow = flows.touch(key) ?? flows.add(key, new UdpFlow(target, answer))
    flow.send(datagram)
  })
  let listening = true
  const close = () => {
    flows.clear()
    if (listening) socket.close()
    listening = false
  }
  return {
    get connections() {
      return flows.size
    },
    // `once` of node:events would reject at a failed reception.
    ended: new Promise<void>((resolve) => socket.once('close', resolve)),
    retarget: (next) => {
      target = next
      flows.clear()
    },
    close,
    reset: close,
  }
}

interface KnownFlow {
  readonly flow: UdpFlow
  lastHeard: number
}

/** The flows by client, the one that was silent for longest first. */
class ClientFlows {
  readonly #environment: RelayEnvironment
  readonly #flows = new Map<string, KnownFlow>()
  #cancelSweep: (() => void) | undefined

  constructor(environment: RelayEnvironment) {
    this.#environment = environment
  }

  get size(): number {
    return this.#flows.size
  }

  /** The client's flow, which becomes the last to be evicted. */
  touch(key: string): UdpFlow | undefined {
    const known = this.#flows.get(key)
    if (known === undefined) return undefined
    known.lastHeard = this.#environment.clock.now()
    this.#flows.delete(key)
    this.#flows.set(key, known)
    return known.flow
  }

  add(key: string, flow: UdpFlow): UdpFlow {
    const [oldest] = this.#flows.keys()
    if (oldest !== undefined && this.size >= this.#environment.limits.flows) this.#end(oldest)
    this.#flows.set(key, { flow, lastHeard: this.#environment.clock.now() })
    flow.onEnd(() => this.#forget(key, flow))
    if (this.#cancelSweep === undefined) this.#sweep()
    return flow
  }

  clear(): void {
    for (const key of [...this.#flows.keys()]) this.#end(key)
    this.#cancelSweep?.()
    this.#cancelSweep = undefined
  }

  #end(key: string): void {
    this.#flows.get(key)?.flow.end()
    this.#flows.delete(key)
  }

  #forget(key: string, flow: UdpFlow): void {
    if (this.#flows.get(key)?.flow === flow) this.#flows.delete(key)
  }

  /** Ends idle flows, and schedules the next call for when the next flow may be idle. */
  #sweep(): void {
    const { clock, limits } = this.#environment
    const now = clock.now()
    for (const [key, { lastHeard }] of this.#flows) {
      const left = lastHeard + limits.idleMs - now
      if (left > 0) {
        this.#cancelSweep = clock.after(left, () => this.#sweep())
        return
      }
      this.#end(key)
    }
    this.#cancelSweep = undefined
  }
}

/**
 * The socket of one client to the target. If the target refuses (ICMP), the flow ends; the client's next datagram
 * begins another.
 */
class UdpFlow {
  readonly #socket: Socket
  #state: 'connecting' | 'connected' | 'ended' = 'connecting'
  #queue: Buffer[] = []
  #onEnd: () => void = () => undefined

  constructor(target: RelayAddress, onAnswer: (datagram: Buffer) => void) {
    const socket = createSocket(familyOf(target.ip) === 6 ? 'udp6' : 'udp4')
    this.#socket = socket
    socket.on('error', () => this.end())
    socket.on('message', onAnswer)
    socket.once('connect', () => this.#connected())
    socket.connect(target.port, target.ip)
  }

  /** Calls back once, when the flow has ended by itself or by `end`. */
  onEnd(callback: () => void): void {
    this.#onEnd = callback
  }

  send(datagram: Buffer): void {
    if (this.#state === 'connected') this.#pass(datagram)
    else if (this.#state === 'connecting' && this.#queue.length < QUEUE) this.#queue.push(datagram)
  }

  end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#queue = []
    this.#socket.close()
    this.#onEnd()
  }

  #connected(): void {
    if (this.#state !== 'connecting') return
    this.#state = 'connected'
    const queue = this.#queue
    this.#queue = []
    for (const datagram of queue) this.#pass(datagram)
  }

  #pass(datagram: Buffer): void {
    if (this.#state !== 'connected') return
    this.#socket.send(datagram, (error) => {
      if (error !== null) this.end()
    })
  }
}
