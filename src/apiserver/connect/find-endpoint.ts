import type { JsonObject } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import { type StreamRequest, subjectOf } from '../request/api-request.ts'
import { badRequest, methodNotAllowed, notFound, StatusError } from '../status/status.ts'
import { readNewest } from '../verbs/read-newest.ts'
import { kubeletOf } from './kubelet.ts'
import { nodeAddresses } from './node-addresses.ts'
import type { NodeTarget } from './node-client.ts'
import { NODE_PROXY } from './node-faults.ts'

/** The destination of a request to a node. */
export interface NodeEndpoint {
  readonly target: NodeTarget
  /** Whether it is the kubelet; otherwise it is node-proxy. */
  readonly isKubelet: boolean
  /** Path and query, encoded. */
  readonly path: string
}

/** The default port at which node-proxy serves other machines. */
const DEFAULT_PORT = 10_246

const PORT = /^[1-9]\d{0,4}$/

/** What node-proxy serves; everything else is for the kubelet. */
const PREFIX = 'inspection/v1/'

/** node-proxies are reached at these addresses. */
const ADDRESS_TYPES = ['InternalIP']

/** A query string of printable ASCII. */
const SEARCH = /^[!-~]*$/

/** The destination of a client's request, from the newest state of the Node, or why there is none. */
export async function findEndpoint(
  context: ServerContext,
  request: StreamRequest,
): Promise<NodeEndpoint | StatusError> {
  const fault = schemeFault(request)
  if (fault !== undefined) return fault
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  if (found instanceof StatusError) return found
  const node = decodeStored(found)
  return (request.forwarded?.path ?? '').startsWith(PREFIX)
    ? nodeProxyEndpoint(context, request, node)
    : kubeletEndpoint(context, request, node)
}

function nodeProxyEndpoint(
  context: ServerContext,
  request: StreamRequest,
  node: JsonObject,
): NodeEndpoint | StatusError {
  const { method, name, forwarded } = request
  if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed()
  const port = portOf(forwarded?.port ?? '', DEFAULT_PORT)
  if (port instanceof StatusError) return port
  const addresses = nodeAddresses(context, node, { port, types: ADDRESS_TYPES })
  if (addresses instanceof StatusError) return addresses
  const credentials = context.nodeCredentials()
  const target = { server: NODE_PROXY, node: name, addresses, port, credentials }
  return { target, isKubelet: false, path: pathOf(request) }
}

/** Only the port that the Node names is dialled, so that the permission gives access to no other server of the node. */
function kubeletEndpoint(
  context: ServerContext,
  request: StreamRequest,
  node: JsonObject,
): NodeEndpoint | StatusError {
  const target = kubeletOf(context, request, node)
  if (target instanceof StatusError) return target
  if (target === undefined) return noKubelet(request)
  const port = portOf(request.forwarded?.port ?? '', target.port)
  if (port instanceof StatusError) return port
  if (port !== target.port) {
    return badRequest(
      `port ${port} of node ${quote(request.name)} is not that of its kubelet; write ${target.port}, or leave it out`,
    )
  }
  return { target, isKubelet: true, path: pathOf(request) }
}

function noKubelet({ name, forwarded }: StreamRequest): StatusError {
  const below = `/api/v1/nodes/${encodeURIComponent(name)}/proxy`
  const path = forwarded?.path ?? ''
  return new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `path ${quote(path)} of a node without a kubelet is not forwarded; use ${below}/${PREFIX}status, or another path below ${below}/${PREFIX}`,
    details: {},
  })
}

function schemeFault({ name, forwarded, search }: StreamRequest): StatusError | undefined {
  const { scheme = '', port = '' } = forwarded ?? {}
  if (scheme !== '' && scheme !== 'https') {
    return badRequest(
      `scheme ${quote(scheme)} is not served by nodes; write https:${name}:${port || DEFAULT_PORT}, or the name alone`,
    )
  }
  if (SEARCH.test(search)) return undefined
  return badRequest('the query contains a character that must be encoded')
}

function portOf(port: string, fallback: number): number | StatusError {
  if (port === '') return fallback
  if (PORT.test(port) && Number(port) <= 65_535) return Number(port)
  return badRequest(
    `port ${quote(port)} of the node is invalid; write a number from 1 to 65535, or leave it out for ${fallback}`,
  )
}

function pathOf({ forwarded, search }: StreamRequest): string {
  const encoded = (forwarded?.path ?? '').split('/').map(encodeURIComponent).join('/')
  return `/${encoded}${search === '' ? '' : `?${search}`}`
}
