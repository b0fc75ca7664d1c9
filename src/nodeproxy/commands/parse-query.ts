import { parseEnd, type WrittenEnd } from '../../explain/parse-end.ts'
import { hostPort } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import type { Protocol } from '../../resources/types.ts'

/** The flags that describe the packet. */
export interface QueryFlags {
  readonly protocol: string
  readonly interface?: string
}

/** The packet that the arguments describe. */
export interface Query {
  readonly source: Exclude<WrittenEnd, { kind: 'service' }>
  readonly destination: WrittenEnd
  readonly protocol: Protocol
  readonly inInterface: string | undefined
}

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ['tcp', 'TCP'],
  ['udp', 'UDP'],
  ['sctp', 'SCTP'],
])

/** The packet that the arguments describe; a string: what is wrong with the arguments. */
export function parseQuery(from: string, to: string, flags: QueryFlags): Query | string {
  const source = parseEnd(from)
  if (source === undefined || source.kind === 'service') {
    return `SOURCE ${quote(from)}: write an IP address, or node for a process of this node`
  }
  const destination = parseEnd(to)
  if (destination === undefined) {
    return `DESTINATION ${quote(to)}: write ADDRESS:PORT, node:PORT, or NAMESPACE/NAME[:PORT] of a Service`
  }
  if (destination.kind !== 'service' && destination.port === undefined) {
    return `DESTINATION ${quote(to)}: add the port, as in ${exampleOf(destination)}`
  }
  const protocol = PROTOCOLS.get(flags.protocol.toLowerCase())
  if (protocol === undefined) return `--protocol ${quote(flags.protocol)}: write tcp, udp or sctp`
  const { interface: inInterface } = flags
  if (inInterface !== undefined && !/^[\w.-]{1,15}$/.test(inInterface)) {
    return `--interface ${quote(inInterface)}: write the name of an interface of this node`
  }
  return { source, destination, protocol, inInterface }
}

function exampleOf(end: Exclude<WrittenEnd, { kind: 'service' }>): string {
  return end.kind === 'node' ? 'node:30080' : hostPort(end.ip, 80)
}
