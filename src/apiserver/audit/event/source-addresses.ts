import type { IncomingMessage } from 'node:http'
import { type IpAddress, parseIp } from '../../../lib/ip.ts'

const MAX_FORWARDED = 10
const MAPPED = /^::ffff:(?=\d+\.)/i

/**
 * Where a request comes from, as `sourceIPs` has it: what proxies wrote into X-Forwarded-For, then
 * the other end of the connection. A client can write any address but the last one.
 */
export function sourceAddresses({
  headers,
  socket,
}: Pick<IncomingMessage, 'headers'> & RemoteEnd): readonly string[] {
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .slice(-1024)
    .split(',')
    .flatMap((text) => addressOf(text.trim()) ?? [])
    .slice(-MAX_FORWARDED)
  const remote = addressOf(socket.remoteAddress ?? '')
  return remote === undefined || forwarded.at(-1) === remote ? forwarded : [...forwarded, remote]
}

/** What this needs of a connection. */
export interface RemoteEnd {
  readonly socket: { readonly remoteAddress?: string | undefined }
}

function addressOf(text: string): IpAddress | undefined {
  return parseIp(text.replace(MAPPED, ''))
}
