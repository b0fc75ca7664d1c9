import type { ListenAddress, ServerParts } from './server-parts.ts'
import { TcpServer } from './tcp-server.ts'
import { UdpServer } from './udp-server.ts'

/** The sockets of a server; see `openServers`. */
export interface DnsServers {
  readonly addresses: readonly ListenAddress[]
  close(): Promise<void>
}

/**
 * Opens both transports on each address, at the same port.
 * @throws the system's error when an address cannot be used; none is open then
 */
export async function openServers(
  listen: readonly ListenAddress[],
  parts: ServerParts,
): Promise<DnsServers> {
  await using opening = new AsyncDisposableStack()
  const addresses: ListenAddress[] = []
  for (const { ip, port } of listen) {
    const tcp = await TcpServer.open(parts, { ip, port })
    opening.defer(() => tcp.close())
    const udp = await UdpServer.open(parts, { ip, port: tcp.port })
    opening.defer(() => udp.close())
    addresses.push({ ip, port: tcp.port })
  }
  const opened = opening.move()
  return {
    addresses,
    close: () => opened.disposeAsync(),
  }
}
