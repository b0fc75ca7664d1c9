import { once } from 'node:events'
import { type AddressInfo, createServer, isIP, type Server } from 'node:net'
import { NodeProxyError } from '../../lib/error.ts'
import { hostPort, type IpAddress } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/usage-error.ts'
import type { PortPair } from './parse-ports.ts'

/** A port of this machine that listens. */
export interface Listener {
  readonly server: Server
  readonly ip: string
  readonly port: number
  /** Of the pair of ports. */
  readonly index: number
  close(): Promise<void>
}

/** The second one may be missing on a machine without IPv6. */
const LOCALHOST = ['127.0.0.1', '::1'] as const

/** Listens for every pair on every address. @throws NP_ORCHCTL_LISTEN, NP_ORCHCTL_USAGE; nothing listens then */
export async function listenAll(
  addresses: string,
  ports: readonly PortPair[],
): Promise<readonly Listener[]> {
  const ips = addresses.split(',').flatMap((one) => (one === 'localhost' ? LOCALHOST : [one]))
  const wrong = ips.find((ip) => isIP(ip) === 0)
  if (wrong !== undefined) {
    throw usageError(`--address ${quote(wrong)} is no IP address`, 'write localhost or addresses')
  }
  await using opening = new AsyncDisposableStack()
  const listeners: Listener[] = []
  for (const [index, { local }] of ports.entries()) {
    let port = local
    for (const ip of ips) {
      const server = await listen(ip, port)
      if (server === undefined) continue
      // Any free port is the same one for all addresses.
      ;({ port } = server.address() as AddressInfo)
      const close = (): Promise<void> => closed(server)
      opening.defer(close)
      listeners.push({ server, ip, port, index, close })
    }
  }
  opening.move()
  return listeners
}

/** Undefined: this machine has no IPv6 loopback address. */
async function listen(ip: string, port: number): Promise<Server | undefined> {
  // Clients that have sent everything still get what comes back.
  const server = createServer({ allowHalfOpen: true, noDelay: true })
  try {
    server.listen({ host: ip, port, ipv6Only: true })
    await once(server, 'listening')
    return server
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    if (ip === '::1' && code === 'EADDRNOTAVAIL') return undefined
    const hint = 'choose another local port, or 0 for any free one'
    const message = `cannot listen on ${hostPort(ip as IpAddress, port)}: ${code}`
    throw new NodeProxyError('NP_ORCHCTL_LISTEN', message, { cause, hint })
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
