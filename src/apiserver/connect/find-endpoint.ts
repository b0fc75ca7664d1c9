import { hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import { MAX_ADDRESSES } from '../../lib/tls/first-connection.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import { type StreamRequest, subjectOf } from '../request/api-request.ts'
import { badRequest, notFound, StatusError } from '../status/status.ts'
import { readNewest } from '../verbs/read-newest.ts'

/** The destination of a request to a node. */
export interface NodeEndpoint {
  /** The name of the Node object. */
  readonly node: string
  /** The addresses to try, in this order; at least one. */
  readonly addresses: readonly IpAddress[]
  readonly port: number
  /** Path and query, encoded. */
  readonly path: string
}

/** The default port at which node-proxy serves other machines. */
const DEFAULT_PORT = 10_246

const PORT = /^[1-9]\d{0,4}$/

/**
 * Only paths with this prefix are forwarded, so that permission to read node-proxy does not give access to
 * other servers on a node.
 */
const PREFIX = 'inspection/v1/'

/** A query string of printable ASCII. */
const SEARCH = /^[!-~]*$/

/** The destination of a client's request, from the newest state of the Node, or why there is none. */
export async function findEndpoint(
  context: ServerContext,
  request: StreamRequest,
): Promise<NodeEndpoint | StatusError> {
  const path = pathOf(request)
  if (path instanceof StatusError) return path
  const port = portOf(request)
  if (port instanceof StatusError) return port
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  if (found instanceof StatusError) return found
  const addresses = nodeAddresses(decodeStored(found), port, {
    addresses: context.ownAddresses(),
    ports: context.ownPorts(),
  })
  if (addresses instanceof StatusError) return addresses
  return { node: request.name, addresses, port, path }
}

function pathOf({ name, forwarded, search }: StreamRequest): string | StatusError {
  const path = forwarded?.path ?? ''
  if (!path.startsWith(PREFIX)) {
    const below = `/api/v1/nodes/${encodeURIComponent(name)}/proxy`
    return new StatusError({
      code: 404,
      reason: 'NotFound',
      message: `path ${quote(path)} of a node is not forwarded; use ${below}/${PREFIX}status, or another path below ${below}/${PREFIX}`,
      details: {},
    })
  }
  if (!SEARCH.test(search)) return badRequest('the query contains a character that must be encoded')
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  return `/${encoded}${search === '' ? '' : `?${search}`}`
}

function portOf({ name, forwarded }: StreamRequest): number | StatusError {
  const { scheme = '', port = '' } = forwarded ?? {}
  if (scheme !== '' && scheme !== 'https') {
    return badRequest(
      `scheme ${quote(scheme)} is not served by nodes; write https:${name}:${port || DEFAULT_PORT}, or the name alone`,
    )
  }
  if (port === '') return DEFAULT_PORT
  if (PORT.test(port) && Number(port) <= 65_535) return Number(port)
  return badRequest(
    `port ${quote(port)} of the node is invalid; write a number from 1 to 65535, or leave it out for ${DEFAULT_PORT}`,
  )
}

/** The addresses and ports at which this server itself listens. */
interface OwnEndpoints {
  readonly addresses: readonly IpAddress[]
  readonly ports: readonly number[]
}

/**
 * The InternalIPs of a Node to which requests may be sent, in their order; at least one. Because a node writes
 * its addresses itself, loopback, link-local and multicast addresses and those of this server are left out. If
 * none is left, the status names the reason of the first.
 */
export function nodeAddresses(
  node: JsonObject,
  port: number,
  own: OwnEndpoints,
): readonly IpAddress[] | StatusError {
  const name = stringAt(node, 'metadata', 'name')
  const found = arrayAt(node, 'status', 'addresses')
    .filter((one) => stringAt(one, 'type') === 'InternalIP')
    .map((one) => usableAddress(stringAt(one, 'address'), { name, port, own }))
  const usable = found.flatMap((one) => (one instanceof StatusError ? [] : [one]))
  if (usable.length > 0) return [...new Set(usable)].slice(0, MAX_ADDRESSES)
  return found.find((one) => one instanceof StatusError) ?? withoutAddress(name, '')
}

function usableAddress(
  text: string,
  { name, port, own }: { readonly name: string; readonly port: number; readonly own: OwnEndpoints },
): IpAddress | StatusError {
  const ip = parseIp(text)
  if (ip === undefined) return withoutAddress(name, text)
  if (isSpecialAddress(ip)) {
    return badRequest(
      `node ${quote(name)} is not reached at its InternalIP ${ip}: it is loopback, link-local, multicast or unspecified; register the node with an address of its network`,
    )
  }
  if (own.addresses.includes(ip) && own.ports.includes(port)) {
    const where = hostPort(ip, port)
    return badRequest(
      `node ${quote(name)} is not reached at ${where}: this server listens there itself; name the port of its node-proxy`,
    )
  }
  return ip
}

function withoutAddress(name: string, text: string): StatusError {
  const what =
    text === '' ? 'no InternalIP' : `the InternalIP ${quote(text)}, which is not an address`
  return new StatusError({
    code: 503,
    reason: 'ServiceUnavailable',
    message: `node ${quote(name)} has ${what}: see its status.addresses, which the program that registers the node writes`,
    details: { name },
  })
}
