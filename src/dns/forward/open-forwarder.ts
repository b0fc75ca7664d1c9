import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { createForwarder, type Forwarder, type ForwardObserver } from './forwarder.ts'
import { parseUpstream, type Upstream, upstreamName } from './upstream/upstream.ts'

/** The number of servers that libc uses (MAXNS of resolv.h). */
const MAX_NAMESERVERS = 3

/** Where upstreams are named. */
export interface UpstreamSettings {
  readonly upstreams: readonly Upstream[]
  /** A resolv.conf file, whose servers come after the upstreams; empty: none. */
  readonly resolvConf: string
}

export interface OpenForwarderOptions {
  readonly settings: UpstreamSettings
  /** Where the server itself listens. */
  readonly listening: readonly ListenAddress[]
  readonly observer: ForwardObserver
  /** Receives a sentence for each line of the file that is not used. */
  readonly onWarning: (warning: string) => void
}

/**
 * A forwarder for the upstreams of the settings; undefined when they name none.
 * @throws NP_DNS_RESOLV_CONF, NP_DNS_LOOP
 */
export async function openForwarder(options: OpenForwarderOptions): Promise<Forwarder | undefined> {
  const { settings, listening, observer, onWarning } = options
  const upstreams = [...settings.upstreams]
  if (settings.resolvConf !== '') {
    const found = await readResolvConf(settings.resolvConf)
    for (const warning of found.warnings) onWarning(`${settings.resolvConf}: ${warning}`)
    upstreams.push(...found.upstreams)
  }
  if (upstreams.length === 0) return undefined
  refuseLoop(upstreams, listening)
  return createForwarder({ upstreams, observer })
}

/** Where the server itself listens; `0.0.0.0` and `::` stand for every address of the machine of their family. */
interface ListenAddress {
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
  // The sockets of the server at `::` receive IPv6 only.
  const isOfFamily = upstream.address.includes(':') === own.address.includes(':')
  const coversAll = isOfFamily && (own.address === '::' || own.address === '0.0.0.0')
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

/** The name servers of a resolv.conf (resolv.conf(5)). */
interface ResolvConf {
  /** At most three, in their order, with port 53. */
  readonly upstreams: readonly Upstream[]
  /** A sentence for each `nameserver` line that is not used, with its line number. */
  readonly warnings: readonly string[]
}

/** Reads the `nameserver` lines; all other lines are ignored. */
export function parseResolvConf(text: string): ResolvConf {
  const upstreams: Upstream[] = []
  const warnings: string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const [keyword, address = ''] = line.trim().split(/\s+/)
    if (keyword !== 'nameserver') continue
    // Addresses in resolv.conf have no port, so brackets and a single colon are refused.
    const upstream = /[[\]]|^[^:]*:[^:]*$/.test(address) ? undefined : parseUpstream(address)
    const problem = problemOf(upstream, upstreams)
    if (upstream === undefined || problem !== undefined) {
      warnings.push(`line ${index + 1}: nameserver ${quote(address)} ${problem ?? ''}`)
    } else {
      upstreams.push(upstream)
    }
  }
  return { upstreams, warnings }
}

/**
 * Reads a resolv.conf file. Throws NP_DNS_RESOLV_CONF when it cannot be read, or names no server that can be
 * used: libc would then query the machine itself, which would be this server.
 */
export async function readResolvConf(path: string): Promise<ResolvConf> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw failure(path, 'cannot be read', { cause })
  }
  const found = parseResolvConf(text)
  if (found.upstreams.length > 0) return found
  throw failure(path, ['has no usable nameserver line', ...found.warnings].join('; '), {})
}

function problemOf(
  upstream: Upstream | undefined,
  earlier: readonly Upstream[],
): string | undefined {
  if (upstream === undefined) return 'is not the IP address of a host; correct it'
  if (earlier.some(({ address }) => address === upstream.address)) return 'is named twice'
  if (earlier.length < MAX_NAMESERVERS) return undefined
  return `is not used: only the first ${MAX_NAMESERVERS} are`
}

function failure(path: string, what: string, { cause }: { cause?: unknown }): NodeProxyError {
  const reason = cause instanceof Error ? ` (${quote(cause.message)})` : ''
  const hint = 'name another file, or the upstreams themselves'
  const message = `resolv.conf file ${quote(path)} ${what}${reason}; ${hint}`
  return new NodeProxyError('NP_DNS_RESOLV_CONF', message, { object: path, hint, cause })
}
