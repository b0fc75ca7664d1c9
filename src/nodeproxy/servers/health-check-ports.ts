import type { RequestListener } from 'node:http'
import type { HealthCheck } from '../../forwarding/health-check.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { Listener } from './listener.ts'

export interface HealthCheckPortsOptions {
  readonly clock: Clock
  /** Whether the rules are where they should be; see `HealthReport.healthy`. */
  readonly healthy: () => boolean
  /**
   * Called when a Service cannot have its port: once for each other Service that has it, and for each address and reason;
   * binding is tried again all the same.
   */
  readonly onBlocked: (service: ServiceKey, error: NodeProxyError) => void
  /** How many sockets listen, and how many wait. */
  readonly onCount?: (listening: number, blocked: number) => void
}

interface Socket {
  readonly listener: Listener
  listening: boolean
  /** The Service and the message of the last failure that was reported. */
  reported: string
}

/**
 * One small HTTP server for each health check node port: is there a ready endpoint of this Service on this node?
 * Sockets belong to ports, so a port that passes from one Service to another stays open.
 */
export class HealthCheckPorts {
  readonly #options: HealthCheckPortsOptions
  readonly #checks = new Map<ServiceKey, HealthCheck>()
  /** By port. Of several Services the first by name gets the port, so that all nodes decide alike. */
  readonly #claims = new Map<number, Set<ServiceKey>>()
  /** By `socketKey`. */
  readonly #sockets = new Map<string, Socket>()
  #addresses: readonly IpAddress[] = []

  constructor(options: HealthCheckPortsOptions) {
    this.#options = options
  }

  /** Opens, changes or (undefined) closes the check of one Service. */
  async replace(service: ServiceKey, check: HealthCheck | undefined): Promise<void> {
    const before = this.#checks.get(service)
    if (check === undefined) this.#checks.delete(service)
    else this.#checks.set(service, check)
    if (before?.port === check?.port) return
    if (before !== undefined) this.#release(before.port, service)
    if (check !== undefined) this.#claim(check.port, service)
    const ports = [before?.port, check?.port].filter((port) => port !== undefined)
    await Promise.all(ports.map((port) => this.#reconcile(port)))
  }

  /** The addresses to listen on, see `healthCheckAddresses`. */
  async setAddresses(addresses: readonly IpAddress[]): Promise<void> {
    const ports = [...this.#claims.keys()]
    const gone = this.#addresses.filter((ip) => !addresses.includes(ip))
    this.#addresses = addresses
    await Promise.all([
      ...ports.flatMap((port) => gone.map((ip) => this.#closeSocket(ip, port))),
      ...ports.map((port) => this.#reconcile(port)),
    ])
  }

  async close(): Promise<void> {
    this.#checks.clear()
    this.#claims.clear()
    const sockets = [...this.#sockets.values()]
    this.#sockets.clear()
    await Promise.all(sockets.map(({ listener }) => listener.close()))
    this.#count()
  }

  #claim(port: number, service: ServiceKey): void {
    const claimants = this.#claims.get(port) ?? new Set()
    this.#claims.set(port, claimants.add(service))
    const winner = this.#winner(port) ?? service
    // The others know the winner already, unless it is new.
    const informed = winner === service ? claimants : [service]
    const losers = [...informed].filter((one) => one !== winner).toSorted()
    for (const loser of losers) this.#options.onBlocked(loser, portConflict(port, winner))
  }

  #release(port: number, service: ServiceKey): void {
    const claimants = this.#claims.get(port)
    claimants?.delete(service)
    if (claimants?.size === 0) this.#claims.delete(port)
  }

  /** Opens or closes the sockets of a port at all addresses. */
  async #reconcile(port: number): Promise<void> {
    const wanted = this.#claims.has(port)
    const work = this.#addresses.map((ip) =>
      wanted ? this.#openSocket(ip, port) : this.#closeSocket(ip, port),
    )
    await Promise.all(work)
    this.#count()
  }

  async #openSocket(ip: IpAddress, port: number): Promise<void> {
    const key = socketKey(ip, port)
    if (this.#sockets.has(key)) return
    const listener = new Listener({
      address: { ip, port },
      handler: this.#answer(port),
      clock: this.#options.clock,
      ipv6Only: true,
      onBlocked: (error) => this.#blocked(socket, port, error),
      onListening: () => {
        socket.listening = true
        this.#count()
      },
    })
    const socket: Socket = { listener, listening: false, reported: '' }
    this.#sockets.set(key, socket)
    await listener.start()
  }

  async #closeSocket(ip: IpAddress, port: number): Promise<void> {
    const key = socketKey(ip, port)
    const socket = this.#sockets.get(key)
    this.#sockets.delete(key)
    await socket?.listener.close()
  }

  #blocked(socket: Socket, port: number, error: NodeProxyError): void {
    const service = this.#winner(port)
    const failure = `${service} ${error.message}`
    if (service === undefined || socket.reported === failure) return
    socket.reported = failure
    this.#options.onBlocked(service, error)
  }

  #winner(port: number): ServiceKey | undefined {
    return [...(this.#claims.get(port) ?? [])].sort()[0]
  }

  #answer(port: number): RequestListener {
    return (_request, response) => {
      const service = this.#winner(port)
      const check = service && this.#checks.get(service)
      const page = healthCheckPage(check, this.#options.healthy())
      response.writeHead(page.code, page.headers)
      response.end(page.body)
    }
  }

  #count(): void {
    const sockets = [...this.#sockets.values()]
    const listening = sockets.filter((socket) => socket.listening).length
    this.#options.onCount?.(listening, sockets.length - listening)
  }
}

function socketKey(ip: IpAddress, port: number): string {
  return `${ip} ${port}`
}

/** The response to a load balancer, for any path and method. */
export function healthCheckPage(check: HealthCheck | undefined, healthy: boolean) {
  const localEndpoints = check?.localEndpoints ?? 0
  const [namespace = '', name = ''] = (check?.service ?? '').split('/')
  const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: healthy }
  return {
    code: localEndpoints > 0 && healthy ? 200 : 503,
    headers: {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'X-Load-Balancing-Endpoint-Weight': String(localEndpoints),
    },
    body: JSON.stringify(body),
  }
}

function portConflict(port: number, winner: ServiceKey): NodeProxyError {
  return new NodeProxyError(
    'NP_NODEPROXY_HEALTH_CHECK_CONFLICT',
    `health check node port ${port} belongs to Service ${winner}`,
    { object: winner, hint: 'give one of the two another healthCheckNodePort' },
  )
}
