import type { ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import type { Balancing, RouteProtocol } from './route.ts'

/** An address of this machine at which a Service is offered. */
export interface BindAddress {
  readonly ip: IpAddress
  readonly port: number
}

/** `userspace.entry: redirect`: rules bring packets for the addresses of Services here; needs root. */
export interface TransparentListening {
  readonly kind: 'transparent'
  readonly netfilter: NetfilterSettings
  /** This node's addresses that serve node ports, without loopback. */
  readonly nodeAddresses: readonly IpAddress[]
}

/** `userspace.entry: bind`: the forwarder listens at the configured addresses of this machine. */
export interface BoundListening {
  readonly kind: 'bound'
  /** By `bindingKey`; Services without a binding are not served. */
  readonly bindings: ReadonlyMap<string, readonly BindAddress[]>
}

/** Settings of one instance; other settings need a new instance. */
export interface UserspaceSettings {
  readonly listening: TransparentListening | BoundListening
  /** For Services without an annotation for it. */
  readonly balancing: Balancing
}

/** A port of a Service as configuration names it. */
interface BoundPort {
  readonly service: ServiceKey
  /** Its name or its number; undefined means the only port of this protocol. */
  readonly portRef?: string
  readonly protocol: RouteProtocol
}

/** `shop/cart:http/TCP`, `shop/cart:80/TCP` or `shop/cart/TCP`; a port name is never a number. */
export function bindingKey({ service, portRef, protocol }: BoundPort): string {
  const port = portRef === undefined ? '' : `:${portRef}`
  return `${service}${port}/${protocol}`
}

/** Where an entry is to be served, for each notation of its port, without repetitions. */
export function listeningOf(
  { service, portName, frontends }: ForwardingEntry,
  protocol: RouteProtocol,
  bindings: BoundListening['bindings'],
): readonly BindAddress[] {
  const clusterIP = frontends.find(({ kind }) => kind === 'clusterIP')
  const names = [portName, String(clusterIP?.port ?? '')].filter((name) => name !== '')
  const keys = [
    ...names.map((portRef) => bindingKey({ service, portRef, protocol })),
    bindingKey({ service, protocol }),
  ]
  const all = keys.flatMap((key) => bindings.get(key) ?? [])
  return [...new Map(all.map((each) => [`${each.ip} ${each.port}`, each])).values()]
}
