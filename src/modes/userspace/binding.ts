import type { ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { RouteProtocol } from './route.ts'
import type { BindAddress, BoundListening } from './settings.ts'

/** A port of a Service as configuration names it. */
export interface BoundPort {
  readonly service: ServiceKey
  /** Its name or its number; undefined: any, for Services with one port of the protocol. */
  readonly portRef?: string
  readonly protocol: RouteProtocol
}

/** `shop/cart:http/TCP`, `shop/cart:80/TCP` or `shop/cart/TCP`: no port name is a number. */
export function bindingKey({ service, portRef, protocol }: BoundPort): string {
  const port = portRef === undefined ? '' : `:${portRef}`
  return `${service}${port}/${protocol}`
}

/** Where an entry is to be served, in each way that its port can be named, without repetitions. */
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
