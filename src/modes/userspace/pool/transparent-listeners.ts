import { portOf } from '../../../kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../kernel/sockets/sockets.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Family, IpAddress } from '../../../lib/ip.ts'
import type { PortRange } from '../../../lib/port-range.ts'
import type { ForwarderOptions, RedirectPorts } from '../forwarder.ts'
import type { Side } from '../route.ts'
import type { Listener } from '../worker/messages.ts'

/**
 * Redirected packets keep their address. A client that connects here directly reaches no Service,
 * and is reset.
 */
const ANY: Readonly<Record<Family, IpAddress>> = { 4: '0.0.0.0' as IpAddress, 6: '::' as IpAddress }
const SIDES = ['pods', 'others'] as const satisfies readonly Side[]
/** Ports of the two sides, unless configured otherwise; 10248 to 10260 belong to other daemons. */
const USUAL_PORTS: PortRange = { first: 10_270, last: 10_271 }
/** Free ports that are tried where the usual ones are taken. */
const MAX_ATTEMPTS = 16

/** Open sockets for redirected packets, and the ports that rules must translate to. */
export interface TransparentListeners {
  readonly ports: ReadonlyMap<Family, RedirectPorts>
  /** Of each worker: TCP sockets are shared, UDP sockets its own. */
  readonly listeners: readonly (readonly Listener[])[]
}

/**
 * Opens the sockets for redirected packets: at the same ports after every start, if they are free,
 * because conntrack and rules of an earlier run translate clients to those, which would otherwise
 * time out. Throws NP_KERNEL_SOCKET where no port is left.
 */
export function openTransparent(
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

/** Port 0 is any that is free. */
function* candidatesOf(range: PortRange | undefined): Generator<number, undefined> {
  const { first, last } = range ?? USUAL_PORTS
  for (let port = first; port <= last; port++) yield port
  if (range === undefined) yield* Array.from({ length: MAX_ATTEMPTS }, () => 0)
  return undefined
}

interface PortWanted {
  readonly ip: IpAddress
  readonly workers: number
  /** Each is tried once, whichever side needs a port. */
  readonly candidates: Generator<number, undefined>
}

/** The same port for TCP and UDP. */
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
