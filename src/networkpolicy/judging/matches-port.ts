import type { PolicyPort } from '../objects/network-policy.ts'
import type { ConnectionEnd, PolicyConnection } from './connection.ts'

/** What of a connection a port is compared with. */
export interface PortConnection extends Pick<PolicyConnection, 'protocol' | 'port'> {
  readonly destination: Pick<ConnectionEnd, 'pod'>
}

/**
 * Whether a connection goes to a port of a rule. A name is that of a container port of the Pod that is connected to, in
 * both directions; an address without a Pod has no names.
 */
export function matchesPort(
  wanted: PolicyPort,
  { destination, protocol, port }: PortConnection,
): boolean {
  if (wanted.protocol !== protocol) return false
  const range = wanted.port
  if (range === undefined) return true
  if (typeof range !== 'string') return range.first <= port && port <= range.last
  const named = destination.pod?.namedPorts ?? []
  return named.some((one) => one.name === range && one.protocol === protocol && one.port === port)
}
