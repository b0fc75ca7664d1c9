import type { ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { RouteProtocol } from './route.ts'
import type { BindAddress, BoundListening } from './settings.ts'

/** A port of a Service as configuration names it. */
export interface BoundPort {
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
