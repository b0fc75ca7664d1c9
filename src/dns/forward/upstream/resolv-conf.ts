import { readFile } from 'node:fs/promises'
import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import { parseUpstream, type Upstream } from './upstream.ts'

/** As many as libc uses (MAXNS of resolv.h). */
const MAX_NAMESERVERS = 3

/** The name servers of a resolv.conf (resolv.conf(5)). */
export interface ResolvConf {
  /** At most three, in their order, with port 53. */
  readonly upstreams: readonly Upstream[]
  /** A sentence for each `nameserver` line that is not used, with its line number. */
  readonly warnings: readonly string[]
}

/** Reads the `nameserver` lines; all other lines and comments are of no interest to forwarding. */
export function parseResolvConf(text: string): ResolvConf {
  const upstreams: Upstream[] = []
  const warnings: string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const [keyword, address = ''] = line.trim().split(/\s+/)
    if (keyword !== 'nameserver') continue
    // Such an address has no port: what looks like one is part of another form.
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
