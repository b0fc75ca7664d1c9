import { formatIp, type IpAddress, parseIp } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'
import type { PersistenceTemplate } from './ipvs-snapshot.ts'

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ['TCP', 'TCP'],
  ['UDP', 'UDP'],
  ['SCTP', 'SCTP'],
])

/**
 * The persistence templates of /proc/net/ip_vs_conn: entries whose client port is 0. Columns: protocol, client, its port,
 * virtual address and port, real address and port, all hexadecimal but IPv6 addresses, which are in brackets; state; seconds.
 */
export function parseTemplates(text: string): readonly PersistenceTemplate[] {
  return text.split('\n').flatMap((line) => {
    const [protocol = '', from, fromPort, to, toPort, at, atPort, , seconds] = line
      .trim()
      .split(/\s+/)
    const [client, virtualIp, server] = [from, to, at].map(addressOf)
    if (client === undefined || virtualIp === undefined || server === undefined) return []
    if (Number.parseInt(fromPort ?? '', 16) !== 0) return []
    const ports = { virtualPort: hex(toPort), serverPort: hex(atPort) }
    const secondsLeft = Number(seconds)
    return [{ protocol: PROTOCOLS.get(protocol), client, virtualIp, server, ...ports, secondsLeft }]
  })
}

function addressOf(text = ''): IpAddress | undefined {
  if (text.startsWith('[')) return parseIp(text.slice(1, -1))
  return /^[0-9A-F]{8}$/i.test(text) ? formatIp(Uint8Array.fromHex(text)) : undefined
}

function hex(text = '0'): number {
  return Number.parseInt(text, 16)
}
