import type { ServiceKey } from '../../forwarding/entry.ts'
import type { FrontendProblem } from '../../forwarding/problems.ts'
import type { Listener, Listeners } from '../../kernel/listeners.ts'
import { hostPort, type IpAddress } from '../../lib/ip.ts'
import type { Protocol, Service } from '../../resources/types.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeEvents } from './node-events.ts'
import {
  addressRefused,
  externalIPShadowsSocket,
  frontendConflict,
  nodePortShadowsSocket,
  serviceReference,
} from './warnings.ts'

/** What `ServiceEvents` uses. */
export interface ServiceEventsParts {
  readonly events: Pick<NodeEvents, 'warn'>
  readonly listeners: Listeners
  readonly log: Logger
  readonly store: { service(key: ServiceKey): Service | undefined }
  /** The addresses of this node's interfaces. */
  readonly node: { readonly localAddresses: readonly IpAddress[] }
}

/**
 * Reports, in the log and by Events about Services, the frontends that are not served, and the local sockets whose
 * packets a Service takes. Each problem is reported once, and again if it disappears and returns.
 */
export class ServiceEvents {
  readonly #parts: ServiceEventsParts
  /** The problems that existed at the last review; each was reported. */
  #reported: ReadonlySet<string> = new Set()
  /** The ids of the socket claims of each Service at its last review, which need no other check. */
  readonly #checked = new Map<ServiceKey, ReadonlySet<string>>()

  constructor(parts: ServiceEventsParts) {
    this.#parts = parts
  }

  /** To be called after a compilation. `services`: those that were compiled; `problems`: all that exist now. */
  review(services: readonly ServiceKey[], problems: readonly FrontendProblem[]): void {
    this.#reviewProblems(problems)
    this.#reviewSockets(services)
  }

  #reviewProblems(problems: readonly FrontendProblem[]): void {
    const present = new Set<string>()
    for (const problem of problems) {
      const key = `${problem.entry} ${problem.ip} ${problem.port} ${problem.code} ${problem.winner}`
      present.add(key)
      if (!this.#reported.has(key)) this.#report(problem)
    }
    this.#reported = present
  }

  #report(problem: FrontendProblem): void {
    const { service, ip, port, protocol, code, message, winner, status } = problem
    this.#parts.log.warn({ service, ip, port, protocol, code, winner }, message)
    const regarding = serviceReference(service, this.#parts.store.service(service)?.uid)
    const frontend = `${hostPort(ip, port)}/${protocol}`
    this.#parts.events.warn(
      status === 'Conflict' && winner !== undefined
        ? frontendConflict(regarding, { frontend, winner: winner.split(':')[0] as ServiceKey })
        : addressRefused(regarding, { ip, why: message }),
    )
  }

  /** Reports processes that listen on a new node port or external IP: they receive no more packets from outside. */
  #reviewSockets(services: readonly ServiceKey[]): void {
    const local = new Set(this.#parts.node.localAddresses)
    const newClaims = services.flatMap((key) => this.#newClaims(key, local))
    if (newClaims.length === 0) return
    const listeners = this.#parts.listeners.list()
    for (const claim of newClaims) this.#warnIfShadowed(claim, listeners)
  }

  /** The claims that the Service did not have at its last review. */
  #newClaims(key: ServiceKey, local: ReadonlySet<IpAddress>): readonly SocketClaim[] {
    const service = this.#parts.store.service(key)
    const claims = service ? claimsOf(service, local) : []
    const before = this.#checked.get(key)
    if (claims.length === 0) this.#checked.delete(key)
    else this.#checked.set(key, new Set(claims.map(({ id }) => id)))
    return claims.filter(({ id }) => !before?.has(id))
  }

  #warnIfShadowed(claim: SocketClaim, listeners: readonly Listener[]): void {
    if (!listeners.some((listener) => shadows(claim, listener))) return
    const { service, ip, port, protocol } = claim
    this.#parts.log.warn(
      { service: service.key, ip, port, protocol },
      'a process of this node listens on an address and port that the Service now takes',
    )
    const regarding = serviceReference(service.key, service.uid)
    this.#parts.events.warn(
      ip === 'node'
        ? nodePortShadowsSocket(regarding, { nodePort: port, protocol })
        : externalIPShadowsSocket(regarding, { ip, port, protocol }),
    )
  }
}

/** An address and port of this node whose packets a Service takes from local sockets. */
interface SocketClaim {
  /** Unique within the Service. */
  readonly id: string
  readonly service: Service
  /** `node`, for a node port: all addresses of this node except loopback. */
  readonly ip: IpAddress | 'node'
  readonly port: number
  readonly protocol: Protocol
}

/** The claims of a Service: its node ports, and its external IPs that are in `local`, the addresses of this node. */
function claimsOf(service: Service, local: ReadonlySet<IpAddress>): readonly SocketClaim[] {
  const ips = service.externalIPs.filter((ip) => local.has(ip))
  return service.ports.flatMap(({ protocol, port, nodePort }) => {
    const claim = (ip: IpAddress | 'node', number: number): SocketClaim => {
      return { id: `${ip} ${number} ${protocol}`, service, ip, port: number, protocol }
    }
    return [...(nodePort > 0 ? [claim('node', nodePort)] : []), ...ips.map((ip) => claim(ip, port))]
  })
}

/** Whether the claim takes packets from this listening socket. A node port takes none from a socket of loopback. */
function shadows({ ip, port, protocol }: SocketClaim, listener: Listener): boolean {
  if (listener.protocol !== protocol || listener.port !== port) return false
  const isUnspecified = listener.ip === '0.0.0.0' || listener.ip === '::'
  if (isUnspecified || listener.ip === ip) return true
  const isLoopback = listener.ip.startsWith('127.') || listener.ip === '::1'
  return ip === 'node' && !isLoopback
}
