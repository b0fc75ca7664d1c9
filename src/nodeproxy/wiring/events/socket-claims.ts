import type { Listener } from '../../../kernel/listener/listeners.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { Protocol, Service } from '../../../resources/types.ts'

/** An address and port of this node whose packets a Service takes from local sockets. */
export interface SocketClaim {
  /** Unique within the Service. */
  readonly id: string
  readonly service: Service
  /** `node`: all addresses of this node but loopback, for a node port. */
  readonly ip: IpAddress | 'node'
  readonly port: number
  readonly protocol: Protocol
}

/** The claims of a Service: its node ports, and its external IPs that are in `local`, the addresses of this node. */
export function claimsOf(service: Service, local: ReadonlySet<IpAddress>): readonly SocketClaim[] {
  const ips = service.externalIPs.filter((ip) => local.has(ip))
  return service.ports.flatMap(({ protocol, port, nodePort }) => {
    const claim = (ip: IpAddress | 'node', number: number): SocketClaim => {
      return { id: `${ip} ${number} ${protocol}`, service, ip, port: number, protocol }
    }
    return [...(nodePort > 0 ? [claim('node', nodePort)] : []), ...ips.map((ip) => claim(ip, port))]
  })
}

/** Whether the claim takes packets from this listening socket. A node port takes none of loopback. */
export function shadows({ ip, port, protocol }: SocketClaim, listener: Listener): boolean {
  if (listener.protocol !== protocol || listener.port !== port) return false
  const isUnspecified = listener.ip === '0.0.0.0' || listener.ip === '::'
  if (isUnspecified || listener.ip === ip) return true
  const isLoopback = listener.ip.startsWith('127.') || listener.ip === '::1'
  return ip === 'node' && !isLoopback
}
