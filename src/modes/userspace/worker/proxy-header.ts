import { ipOf, ipPart, portOf, type SocketAddress } from '../../../kernel/sockets/socket-address.ts'
import type { ProxyProtocol } from '../route.ts'

/** Addresses of both ends of a client's connection, of one family. */
export interface ConnectionEnds {
  readonly client: SocketAddress
  /** The address that the client connected to. */
  readonly destination: SocketAddress
}

/** The twelve bytes with which version 2 begins. */
const SIGNATURE = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
const VERSION_2_PROXY = 0x21
const TCP_OVER = { 4: 0x11, 16: 0x21 } as const

/** The header that a backend receives before the client's bytes (haproxy.org, PROXY protocol). */
export function proxyHeader(version: ProxyProtocol, ends: ConnectionEnds): Uint8Array {
  return version === 'v1' ? text(ends) : binary(ends)
}

function text({ client, destination }: ConnectionEnds): Uint8Array {
  const family = ipPart(client).length === 4 ? 'TCP4' : 'TCP6'
  const words = [ipOf(client), ipOf(destination), portOf(client), portOf(destination)]
  return Buffer.from(`PROXY ${family} ${words.join(' ')}\r\n`, 'latin1')
}

function binary({ client, destination }: ConnectionEnds): Uint8Array {
  const source = ipPart(client)
  const over = TCP_OVER[source.length === 4 ? 4 : 16]
  const ports = Buffer.alloc(4)
  ports.writeUInt16BE(portOf(client), 0)
  ports.writeUInt16BE(portOf(destination), 2)
  const addresses = Buffer.concat([source, ipPart(destination), ports])
  const head = Buffer.from([...SIGNATURE, VERSION_2_PROXY, over, 0, addresses.length])
  return Buffer.concat([head, addresses])
}
