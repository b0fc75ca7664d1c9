import { openSyscalls } from '../../kernel/sockets/syscalls.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { hostPort, type IpAddress } from '../../lib/ip.ts'
import type { ListenAddress, ServerParts } from './server-parts.ts'
import { TcpServer } from './tcp-server.ts'
import { UdpServer } from './udp-server.ts'

const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another program has the port; choose another one, or an address of your own with dns.addresses',
  EADDRNOTAVAIL: 'this machine has no such address; choose one of its own with dns.addresses',
  EACCES: 'ports below 1024 need root or CAP_NET_BIND_SERVICE',
}

/** The sockets of a server; see `openServers`. */
export interface DnsServers {
  readonly addresses: readonly ListenAddress[]
  close(): Promise<void>
}

/**
 * Opens both transports on each address, at the same port.
 * @throws NP_DNS_LISTEN when an address cannot be used; none is open then
 */
export async function openServers(
  listen: readonly ListenAddress[],
  parts: ServerParts,
): Promise<DnsServers> {
  await using opening = new AsyncDisposableStack()
  const addresses: ListenAddress[] = []
  const sys = openSyscalls()
  for (const { ip, port } of listen) {
    const tcp = await TcpServer.open(parts, { ip, port }).catch(cannotListen('TCP', ip, port))
    opening.defer(() => tcp.close())
    const own = tcp.port
    const udp = await UdpServer.open(parts, { ip, port: own }, sys).catch(
      cannotListen('UDP', ip, own),
    )
    opening.defer(() => udp.close())
    addresses.push({ ip, port: tcp.port })
  }
  const opened = opening.move()
  return {
    addresses,
    close: () => opened.disposeAsync(),
  }
}

function cannotListen(transport: string, ip: IpAddress, port: number) {
  return (cause: unknown): never => {
    const system = cause instanceof NodeProxyError ? cause.cause : cause
    const { code = 'unknown error' } = system as NodeJS.ErrnoException
    throw new NodeProxyError(
      'NP_DNS_LISTEN',
      `cannot answer questions over ${transport} at ${hostPort(ip, port)}: ${code}`,
      { cause, hint: REMEDIES[code] ?? 'choose another address with dns.addresses' },
    )
  }
}
