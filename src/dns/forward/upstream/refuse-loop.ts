import { networkInterfaces } from 'node:os'
import { NodeProxyError } from '../../../lib/error.ts'
import { type Upstream, upstreamName } from './upstream.ts'

/** Where the server itself listens; of `0.0.0.0` and `::` on every address of the machine. */
export interface ListenAddress {
  /** Canonical text. */
  readonly address: string
  readonly port: number
}

/**
 * Throws NP_DNS_LOOP when an upstream is the server itself: each forwarded question would return to it without
 * end. `local` are the addresses of the machine. A loop through another server is not seen here; it ends because
 * equal questions are forwarded once and questions in flight are limited.
 */
export function refuseLoop(
  upstreams: readonly Upstream[],
  listening: readonly ListenAddress[],
  local: readonly string[] = localAddresses(),
): void {
  const looping = upstreams.find((each) => listening.some((own) => isReachedAt(each, own, local)))
  if (looping === undefined) return
  const name = upstreamName(looping)
  const hint = 'name the DNS servers outside of the cluster, by flag or in another resolv.conf file'
  const message = `upstream ${name} is an address at which this server listens; ${hint}`
  throw new NodeProxyError('NP_DNS_LOOP', message, { object: name, hint })
}

function isReachedAt(upstream: Upstream, own: ListenAddress, local: readonly string[]): boolean {
  if (upstream.port !== own.port) return false
  if (upstream.address === own.address) return true
  const isIpv6 = upstream.address.includes(':')
  // A socket at `::` receives IPv4, too.
  const coversAll = own.address === '::' || (own.address === '0.0.0.0' && !isIpv6)
  return coversAll && (isLoopback(upstream.address) || local.includes(upstream.address))
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}

function localAddresses(): readonly string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, all = []]) =>
    all.flatMap(({ address, scopeid }) =>
      scopeid ? [`${address}%${name}`, `${address}%${scopeid}`] : [address],
    ),
  )
}
