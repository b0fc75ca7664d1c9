import type { Protocol } from '../../resources/types.ts'

/** A port that a question queries for; an absent part stands for every name or protocol. */
export interface PortQuery {
  readonly name?: string
  readonly protocol?: Protocol
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  _tcp: 'TCP',
  _udp: 'UDP',
  _sctp: 'SCTP',
}

/**
 * The port of the labels before the name of a Service: none, `_tcp`, or `_http._tcp`. Undefined when they
 * name no port.
 */
export function portQuery(labels: readonly string[]): PortQuery | undefined {
  if (labels.length === 0) return {}
  const protocol = PROTOCOLS[labels.at(-1)!]
  if (protocol === undefined || labels.length > 2) return undefined
  if (labels.length === 1) return { protocol }
  const [label = ''] = labels
  return label.startsWith('_') && label.length > 1 ? { name: label.slice(1), protocol } : undefined
}

/** Whether a named port is the one queried for; a port without name has no SRV record of its own. */
export function isPortQueried(
  port: { readonly name: string; readonly protocol: Protocol },
  { name, protocol }: PortQuery,
): boolean {
  if (protocol !== undefined && port.protocol !== protocol) return false
  return name === undefined ? protocol === undefined || port.name !== '' : port.name === name
}
