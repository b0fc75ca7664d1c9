import { hostPort, type IpAddress, parseIp, splitHostPort } from '../../lib/ip.ts'
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

/** One end of a connection as an operator writes it. */
type WrittenEnd =
  /** As a source: a process of this node, whose address the kernel chooses; as a destination: one of its node ports. */
  | { readonly kind: 'node'; readonly port: number | undefined }
  | { readonly kind: 'address'; readonly ip: IpAddress; readonly port: number | undefined }
  /** `namespace/name` or `namespace/name:port`. */
  | { readonly kind: 'service'; readonly service: string }

/**
 * `10.0.0.1`, `10.0.0.1:80`, `fd00::1`, `[fd00::1]:80`, `node`, `node:30080`, `shop/web:http`; undefined for anything
 * else.
 */
export function parseEnd(text: string): WrittenEnd | undefined {
  const { host = '', port: digits } = splitHostPort(text) ?? {}
  const ip = parseIp(host)
  const port = digits === undefined ? undefined : Number(digits)
  if (ip !== undefined || host === 'node') {
    if (port !== undefined && (port < 1 || port > 65_535)) return undefined
    return ip === undefined ? { kind: 'node', port } : { kind: 'address', ip, port }
  }
  const isService = /^[a-z0-9][a-z0-9.-]*\/[a-z0-9][a-z0-9.-]*(:[a-z0-9-]+)?$/.test(text)
  return isService ? { kind: 'service', service: text } : undefined
}
