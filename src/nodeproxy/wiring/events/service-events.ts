import type { ServiceKey } from '../../../forwarding/entry.ts'
import type { FrontendProblem } from '../../../forwarding/problems.ts'
import type { Listener, Listeners } from '../../../kernel/listener/listeners.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { Service } from '../../../resources/types.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeEvents } from './node-events.ts'
import { claimsOf, type SocketClaim, shadows } from './socket-claims.ts'
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
  readonly node: { readonly localAddresses: readonly IpAddress[] }
}

/**
 * Reports, by Events on Services, the frontends that are not served and the local sockets that a Service shadows.
 * Each problem is reported once, and again if it disappears and returns.
 */
export class ServiceEvents {
  readonly #parts: ServiceEventsParts
  /** The problems of the last review. */
  #reported: ReadonlySet<string> = new Set()
  /** The ids of the claims that were checked, by Service. */
  readonly #checked = new Map<ServiceKey, ReadonlySet<string>>()

  constructor(parts: ServiceEventsParts) {
    this.#parts = parts
  }

  /** To call after a compilation: `services` are those that were compiled, `problems` all that exist now. */
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
    const frontend = `${ip}:${port}/${protocol}`
    this.#parts.events.warn(
      status === 'Conflict' && winner !== undefined
        ? frontendConflict(regarding, { frontend, winner: winner.split(':')[0] as ServiceKey })
        : addressRefused(regarding, { ip, why: message }),
    )
  }

  /** A process that listens on a new node port or external IP receives no more packets from outside. */
  #reviewSockets(services: readonly ServiceKey[]): void {
    const local = new Set(this.#parts.node.localAddresses)
    const newClaims = services.flatMap((key) => this.#newClaims(key, local))
    if (newClaims.length === 0) return
    const listeners = this.#parts.listeners.list()
    for (const claim of newClaims) this.#warnIfShadowed(claim, listeners)
  }

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
