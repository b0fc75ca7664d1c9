import { setTimeout as delay } from 'node:timers/promises'
import type { EntryId } from '../../../forwarding/entry.ts'
import { ProcListeners } from '../../../kernel/listeners.ts'
import { holdClients } from '../../../kernel/sockets/hold-clients.ts'
import { portOf, socketAddress } from '../../../kernel/sockets/socket-address.ts'
import { Sockets } from '../../../kernel/sockets/sockets.ts'
import type { Syscalls } from '../../../kernel/sockets/syscalls.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Family, IpAddress } from '../../../lib/ip.ts'
import { Mutex } from '../../../lib/mutex.ts'
import type { PortRange } from '../../../lib/port-range.ts'
import type { KernelError, TrafficCounts } from '../../mode.ts'
import type { Forwarder, ForwarderOptions, RedirectPorts } from '../forwarder.ts'
import type { RouteTraffic } from '../read-traffic.ts'
import type { Route, Side } from '../route.ts'
import type { Listener } from '../worker/messages.ts'
import { type ListenerAddress, listenerKey } from '../worker/route-table.ts'
import { QUIET_MS, type SocketCounts, successorCheck } from './successor.ts'
import { untilIdle } from './until-idle.ts'
import { WantedListeners } from './wanted-listeners.ts'
import { WakeUp, WorkerPool } from './worker-pool.ts'

/**
 * Redirected packets keep their address. A client that connects to this port directly reaches no Service, and is
 * reset.
 */
const ANY: Readonly<Record<Family, IpAddress>> = { 4: '0.0.0.0' as IpAddress, 6: '::' as IpAddress }
const SIDES = ['pods', 'others'] as const satisfies readonly Side[]
/** Ports of the two sides, unless configured otherwise; 10248 to 10260 belong to other daemons. */
const USUAL_PORTS: PortRange = { first: 10_270, last: 10_271 }
/** Free ports that are tried if the usual ones are taken. */
const MAX_ATTEMPTS = 16

/** Shared with the other workers, and with the process that follows this one. */
const SHARED = { shared: true } as const

/** Milliseconds that an unfinished handshake may take; the kernel repeats its answer after a second. */
const HANDSHAKE_MS = 300

/** Native workers, the sockets that they share, and the routes that all of them serve. */
export class WorkerGroup implements Forwarder {
  readonly dataPath = 'native'
  readonly ports: ReadonlyMap<Family, RedirectPorts>
  readonly #sys: Syscalls
  readonly #transparent: TransparentListeners | undefined
  readonly #listeners: BoundListeners | undefined
  readonly #wakeUps: readonly WakeUp[]
  readonly #pool: WorkerPool
  readonly #mutex = new Mutex()
  readonly #listening = new Map<number, Listener['protocol']>()
  /** The listeners at redirected ports; clients wait there until the first routes are known. */
  #waiting: TransparentListeners['listeners']

  constructor(sys: Syscalls, options: ForwarderOptions) {
    this.#sys = sys
    const { workers, listening } = options
    const sockets = new Sockets(sys)
    if (listening === 'transparent') this.#transparent = openTransparent(sockets, options)
    else this.#listeners = new BoundListeners(sockets, workers)
    this.#waiting = this.#transparent?.listeners ?? []
    for (const { socket, protocol } of this.#waiting.flat()) this.#listening.set(socket, protocol)
    this.ports = this.#transparent?.ports ?? new Map()
    this.#wakeUps = Array.from({ length: workers }, () => new WakeUp(sys))
    this.#pool = new WorkerPool(options, this.#wakeUps)
  }

  get ownPorts(): ReadonlySet<number> {
    return new Set([...this.ports.values()].flatMap((sides) => Object.values(sides)))
  }

  get workers(): number {
    return this.#pool.size
  }

  apply(
    changes: ReadonlyMap<EntryId, Route | undefined>,
  ): Promise<ReadonlyMap<EntryId, KernelError>> {
    return this.#mutex.run(async () => {
      const listeners = this.#listeners?.apply(changes)
      const waiting = this.#waiting
      this.#waiting = []
      const orderFor = (worker: number) => ({
        open: waiting[worker] ?? [],
        ...listeners?.changes[worker],
      })
      await this.#pool.applyRoutes(changes, orderFor)
      for (const change of listeners?.changes ?? []) this.#record(change)
      return listeners?.refused ?? new Map<EntryId, KernelError>()
    })
  }

  counts(): TrafficCounts {
    return this.#pool.counts()
  }

  routeTraffic(withBackends: boolean): Promise<readonly RouteTraffic[]> {
    return this.#pool.routeTraffic(withBackends)
  }

  untilIdle(signal: AbortSignal): Promise<void> {
    const counts = () => this.counts()
    const listeners = this.#listeners
    if (listeners === undefined) return untilIdle({ counts }, signal)
    const hasSuccessor = successorCheck(() => listeners.open, new ProcListeners())
    return untilIdle({ counts, hasSuccessor, quietMs: QUIET_MS }, signal)
  }

  async drain(signal: AbortSignal): Promise<void> {
    await this.#mutex.run(() => this.#stopListening(signal))
    await untilIdle({ counts: () => this.counts() }, signal)
  }

  async close(): Promise<void> {
    await this.#mutex.run(async () => {
      await this.#stopListening(AbortSignal.abort())
      await this.#pool.end()
      for (const wakeUp of this.#wakeUps) wakeUp.close()
    })
  }

  #record({ open, close }: ListenerChange): void {
    for (const { socket, protocol } of open) this.#listening.set(socket, protocol)
    for (const socket of close) if (this.#listening.delete(socket)) this.#sys.close(socket)
  }

  /** A listening socket is closed only when no client and no worker waits for it. */
  async #stopListening(signal: AbortSignal): Promise<void> {
    const sockets = [...this.#listening]
    this.#listening.clear()
    const tcp = sockets.filter(([, protocol]) => protocol === 'TCP').map(([socket]) => socket)
    await closeGently(this.#sys, tcp, signal)
    const all = sockets.map(([socket]) => socket)
    await this.#pool.give((worker) => (worker === 0 ? {} : { close: all }))
    await this.#pool.give((worker) => (worker === 0 ? { release: all } : {}))
  }
}

/**
 * Lets the queues of listening TCP sockets run empty while workers go on accepting: new clients wait for the next
 * process, those whose handshake has begun are still accepted. Resolves when the sockets may be closed.
 */
async function closeGently(
  sys: Syscalls,
  listeners: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  if (listeners.length === 0 || signal.aborted) return
  for (const listener of listeners) holdClients(sys, listener)
  await delay(HANDSHAKE_MS, undefined, { signal }).catch(() => undefined)
}

/** What changes in one worker's listeners. */
interface ListenerChange {
  readonly open: readonly Listener[]
  readonly close: readonly number[]
}

/** One socket for each worker; for TCP it is the same socket. */
type ListenerSockets = readonly number[]

/** Sockets at the addresses of `bindings`, one listener for each address. */
class BoundListeners {
  readonly #sockets: Sockets
  readonly #workers: number
  readonly #open = new Map<string, ListenerSockets>()
  readonly #wanted = new WantedListeners()

  constructor(sockets: Sockets, workers: number) {
    this.#sockets = sockets
    this.#workers = workers
  }

  /** The number of sockets that this process has at each listener. */
  get open(): SocketCounts {
    return new Map([...this.#open].map(([key, sockets]) => [key, new Set(sockets).size]))
  }

  /** What each worker must open and close, and the routes with a listener that cannot be opened. */
  apply(changes: ReadonlyMap<EntryId, Route | undefined>): {
    readonly changes: readonly ListenerChange[]
    readonly refused: ReadonlyMap<EntryId, KernelError>
  } {
    const { open, close } = this.#wanted.plan(changes)
    const refused = new Map<EntryId, KernelError>()
    const opened = open.filter((at) => {
      const refusal = this.#openListener(at)
      if (refusal) for (const id of this.#wanted.refuse(at)) refused.set(id, refusal)
      return refusal === undefined
    })
    return { changes: this.#changes(opened, close.map(listenerKey)), refused }
  }

  #changes(opened: readonly ListenerAddress[], gone: readonly string[]): readonly ListenerChange[] {
    const changes = Array.from({ length: this.#workers }, (_, worker) => ({
      open: opened.flatMap((at) => this.#listener(at, worker)),
      close: gone.flatMap((key) => this.#open.get(key)?.[worker] ?? []),
    }))
    for (const key of gone) this.#open.delete(key)
    return changes
  }

  #listener(at: ListenerAddress, worker: number): readonly Listener[] {
    const socket = this.#open.get(listenerKey(at))?.[worker]
    if (socket === undefined) return []
    const { protocol, ip, port } = at
    return [{ socket, protocol, side: 'others', at: socketAddress(ip, port) }]
  }

  #openListener(at: ListenerAddress): KernelError | undefined {
    try {
      this.#open.set(listenerKey(at), at.protocol === 'TCP' ? this.#tcp(at) : this.#udp(at))
      return undefined
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      return { code: 'NP_USERSPACE_LISTEN', message: error.message }
    }
  }

  #tcp({ ip, port }: ListenerAddress): ListenerSockets {
    const socket = this.#sockets.listenTcp(ip, port, SHARED)
    return Array.from({ length: this.#workers }, () => socket)
  }

  #udp({ ip, port }: ListenerAddress): ListenerSockets {
    const sockets: number[] = []
    try {
      while (sockets.length < this.#workers) sockets.push(this.#sockets.bindUdp(ip, port, SHARED))
      return sockets
    } catch (error) {
      for (const socket of sockets) this.#sockets.sys.close(socket)
      throw error
    }
  }
}

/** Open sockets for redirected packets, and the ports that rules must translate to. */
interface TransparentListeners {
  readonly ports: ReadonlyMap<Family, RedirectPorts>
  /** The listeners of each worker: TCP sockets are shared, each worker has its own UDP sockets. */
  readonly listeners: readonly (readonly Listener[])[]
}

/**
 * Opens the sockets for redirected packets. After every start they have the same ports, if these are free: conntrack
 * and rules of an earlier run translate clients to those ports, and these clients would otherwise time out. Throws
 * NP_KERNEL_SOCKET if no port is left.
 */
function openTransparent(
  sockets: Sockets,
  { families, workers, portRange }: Pick<ForwarderOptions, 'families' | 'workers' | 'portRange'>,
): TransparentListeners {
  const listeners = Array.from({ length: workers }, (): Listener[] => [])
  const openSide = (side: Side, wanted: PortWanted) => {
    const { port, tcp, udp } = openPort(sockets, wanted)
    for (const [index, mine] of listeners.entries()) {
      mine.push({ socket: tcp, protocol: 'TCP', side, at: undefined })
      mine.push({ socket: udp[index] ?? -1, protocol: 'UDP', side, at: undefined })
    }
    return [side, port] as const
  }
  try {
    const ports = families.map((family) => {
      const wanted = { ip: ANY[family], workers, candidates: candidatesOf(portRange) }
      const sides = SIDES.map((side) => openSide(side, wanted))
      return [family, Object.fromEntries(sides) as RedirectPorts] as const
    })
    return { ports: new Map(ports), listeners }
  } catch (error) {
    const opened = new Set(listeners.flat().map(({ socket }) => socket))
    for (const socket of opened) sockets.sys.close(socket)
    throw error
  }
}

/** Port 0 stands for any free port. */
function* candidatesOf(range: PortRange | undefined): Generator<number, undefined> {
  const { first, last } = range ?? USUAL_PORTS
  for (let port = first; port <= last; port++) yield port
  if (range === undefined) yield* Array.from({ length: MAX_ATTEMPTS }, () => 0)
  return undefined
}

interface PortWanted {
  readonly ip: IpAddress
  readonly workers: number
  /** Each candidate is tried once, for either side. */
  readonly candidates: Generator<number, undefined>
}

/** Opens the same port for TCP and UDP. */
function openPort(sockets: Sockets, { ip, workers, candidates }: PortWanted) {
  let problem: unknown = noPortLeft(ip)
  for (let next = candidates.next(); !next.done; next = candidates.next()) {
    const opened: number[] = []
    try {
      opened.push(sockets.listenTcp(ip, next.value, { transparent: true }))
      const [tcp = -1] = opened
      const port = portOf(sockets.localAddress(tcp))
      const options = { transparent: true, shared: true }
      while (opened.length <= workers) opened.push(sockets.bindUdp(ip, port, options))
      return { port, tcp, udp: opened.slice(1) }
    } catch (error) {
      for (const socket of opened) sockets.sys.close(socket)
      if (!(error instanceof NodeProxyError)) throw error
      problem = error
    }
  }
  throw problem
}

function noPortLeft(ip: IpAddress): NodeProxyError {
  const message = `no port is left to listen on at ${ip}`
  const hint = 'give portRange two ports or more that no other process uses'
  return new NodeProxyError('NP_KERNEL_SOCKET', message, { hint })
}
