import type { ServiceKey } from '../../forwarding/entry.ts'
import type { FrontendProblem } from '../../forwarding/problem.ts'
import type { ForwardingTable } from '../../forwarding/table.ts'
import type { Listeners } from '../../kernel/listener/listeners.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { Service } from '../../resources/types.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeEvents } from '../node-events.ts'
import {
  addressRefused,
  externalIPShadowsSocket,
  frontendConflict,
  nodePortShadowsSocket,
  serviceReference,
} from '../warnings.ts'

export interface ServiceNoticesParts {
  readonly events: NodeEvents
  readonly listeners: Listeners
  readonly log: Logger
  serviceOf(key: ServiceKey): Service | undefined
  localAddresses(): readonly IpAddress[]
}

/** Tells the owners of Services what is not served, or what it takes from somebody else. */
export class ServiceNotices {
  readonly #parts: ServiceNoticesParts
  readonly #toldProblems = new Set<string>()
  readonly #toldSockets = new Set<string>()

  constructor(parts: ServiceNoticesParts) {
    this.#parts = parts
  }

  /** After these Services were compiled into the table. */
  review(services: readonly ServiceKey[], table: ForwardingTable): void {
    this.#reviewProblems(table.problems())
    this.#reviewSockets(services)
  }

  #reviewProblems(problems: readonly FrontendProblem[]): void {
    const present = new Set<string>()
    for (const problem of problems) {
      const key = `${problem.entry} ${problem.ip} ${problem.port} ${problem.code}`
      present.add(key)
      if (!this.#toldProblems.has(key)) this.#tell(problem)
    }
    this.#toldProblems.clear()
    for (const key of present) this.#toldProblems.add(key)
  }

  #tell(problem: FrontendProblem): void {
    const { service, ip, port, protocol, code, message, winner, status } = problem
    this.#parts.log.warn({ service, ip, port, protocol, code, winner }, message)
    const regarding = serviceReference(service, this.#parts.serviceOf(service)?.uid)
    const frontend = `${ip}:${port}/${protocol}`
    this.#parts.events.warn(
      status === 'Conflict' && winner !== undefined
        ? frontendConflict(regarding, { frontend, winner: winner.split(':')[0] as ServiceKey })
        : addressRefused(regarding, { ip, why: message }),
    )
  }

  /** A socket of this node behind a new node port or external IP gets no more packets from outside. */
  #reviewSockets(services: readonly ServiceKey[]): void {
    const claims = services.flatMap((key) => this.#socketClaims(key))
    const fresh = claims.filter(({ id }) => !this.#toldSockets.has(id))
    if (fresh.length === 0) return
    const listeners = this.#parts.listeners.list()
    for (const { id, ip, port, protocol, service } of fresh) {
      this.#toldSockets.add(id)
      const shadowed = listeners.some(
        (one) =>
          one.protocol === protocol &&
          one.port === port &&
          (ip === 'node' || one.ip === ip || one.ip === '0.0.0.0' || one.ip === '::'),
      )
      if (!shadowed) continue
      this.#parts.log.warn({ service: service.key, ip, port, protocol }, 'a local socket is shadowed')
      const regarding = serviceReference(service.key, service.uid)
      this.#parts.events.warn(
        ip === 'node'
          ? nodePortShadowsSocket(regarding, { nodePort: port, protocol })
          : externalIPShadowsSocket(regarding, { ip, port, protocol }),
      )
    }
  }

  #socketClaims(key: ServiceKey) {
    const service = this.#parts.serviceOf(key)
    if (service === undefined) return []
    const local = new Set(this.#parts.localAddresses())
    const ips = service.externalIPs.filter((ip) => local.has(ip))
    return service.ports.flatMap(({ protocol, port, nodePort }) => [
      ...(nodePort > 0 ? [claim('node', nodePort)] : []),
      ...ips.map((ip) => claim(ip, port)),
    ].map((one) => ({ ...one, protocol, service, id: `${key} ${one.ip} ${one.port} ${protocol}` })))
  }
}

function claim(ip: IpAddress | 'node', port: number): { ip: IpAddress | 'node'; port: number } {
  return { ip, port }
}
