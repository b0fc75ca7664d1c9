import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import { type LogOptions, StreamRefusal } from '../../streams/node-streams.ts'
import {
  PORT_FORWARD,
  serveForwarding,
  TUNNELLED_PORT_FORWARD,
} from '../../streams/port-forward.ts'
import { objectReader } from '../cache/feed.ts'
import type { ServerContext } from '../context/server-context.ts'
import { type HandlerResult, STREAMING, type StreamRequest } from '../request/api-request.ts'
import { sendChunks } from '../request/end-response.ts'
import { parseFlag } from '../request/list-options.ts'
import type { StreamedSubresource } from '../resource/resource.ts'
import { badRequest, StatusError, tooManyRequests } from '../status/status.ts'
import { attach, exec } from './exec.ts'
import { containerOf, findPod, refusalStatus } from './find-pod.ts'
import { offerStream } from './open-stream.ts'

const NUMBER = /^(0|[1-9][0-9]{0,14})$/

const PROTOCOLS = { webSocket: [TUNNELLED_PORT_FORWARD], spdy: PORT_FORWARD }

type Verb = (context: ServerContext, request: StreamRequest) => Promise<HandlerResult>

/** The verb of each stream of a Pod. */
export const podStreamVerbs: Readonly<Record<StreamedSubresource['name'], Verb>> = {
  log,
  exec,
  portforward: portForward,
  attach,
}

/** `pods/portforward`: connections to ports of a Pod, as many as the client opens. */
async function portForward(context: ServerContext, request: StreamRequest): Promise<HandlerResult> {
  const offer = offerStream(context, request, PROTOCOLS)
  if (offer instanceof StatusError) return offer
  const found = await findPod(context, request)
  if (found instanceof StatusError) return found
  const refused = found.isLocal ? undialable(found.pod, context.ownAddresses()) : undefined
  if (refused !== undefined) return refused
  const dialer = await found.node.dialer(found.target)
  if (dialer instanceof StreamRefusal) return refusalStatus(dialer)
  const { clock } = context
  const { resource } = request.served
  const session = serveForwarding(offer.open(), {
    clock,
    connect: async (port) => {
      const pod = objectReader(context).get(resource, request.namespace, request.name)
      if (pod === undefined) return new StreamRefusal('absent', 'the pod is gone')
      const late = found.isLocal ? undialable(pod, context.ownAddresses()) : undefined
      if (late !== undefined) return new StreamRefusal('invalid', late.status.message)
      return dialer.connect(port)
    },
  })
  void dialer.ended.then(() => session.close())
  void session.closed.then(() => dialer.close())
  return STREAMING
}

/** GET of `pods/log`: the output of a container, as plain text. */
async function log(context: ServerContext, request: StreamRequest): Promise<HandlerResult> {
  const wanted = readLogQuery(request.query, context.clock.now())
  if (wanted instanceof StatusError) return wanted
  const found = await findPod(context, request)
  if (found instanceof StatusError) return found
  const container = containerOf(found, request.query)
  if (container instanceof StatusError) return container
  const { streams } = context
  if (streams.isFull) return tooManyRequests('too many streams at one time', 5)
  const { response } = request
  // The event `close`, which ends the log, has passed already.
  if (response.destroyed) return STREAMING
  const over = new AbortController()
  const forget = streams.add(() => over.abort())
  response.once('close', () => {
    forget()
    over.abort()
  })
  const chunks = await found.node.logs(container, wanted, over.signal)
  if (chunks instanceof StreamRefusal) {
    forget()
    return refusalStatus(chunks)
  }
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-cache, private' })
  response.flushHeaders()
  void sendChunks(response, limited(chunks, wanted.limitBytes), {
    clock: context.clock,
    stalledMs: context.limits.stalledClientTimeout,
  }).catch(() => response.destroy())
  return STREAMING
}

async function* limited(
  chunks: AsyncIterable<Buffer>,
  limitBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer> {
  let rest = limitBytes
  for await (const chunk of chunks) {
    yield chunk.subarray(0, Math.min(rest, chunk.length))
    rest -= chunk.length
    if (rest <= 0) return
  }
}

/** The part of a log that a query requests. */
interface LogQuery extends LogOptions {
  /** Undefined: all bytes. */
  readonly limitBytes: number | undefined
}

/** Reads `PodLogOptions`; `now`: milliseconds since the epoch. */
function readLogQuery(query: URLSearchParams, now: number): LogQuery | StatusError {
  const [tailLines, sinceSeconds, limitBytes] = ['tailLines', 'sinceSeconds', 'limitBytes'].map(
    (name) => numberOf(query, name),
  )
  for (const one of [tailLines, sinceSeconds, limitBytes]) {
    if (one instanceof StatusError) return one
  }
  const sinceTime = query.get('sinceTime') ?? ''
  if (sinceTime !== '' && sinceSeconds !== undefined) {
    return badRequest('at most one of sinceTime or sinceSeconds may be specified')
  }
  if (limitBytes === 0) return badRequest('limitBytes must be at least 1')
  const since = sinceTime === '' ? undefined : Date.parse(sinceTime)
  if (Number.isNaN(since)) {
    return badRequest(`sinceTime must be a time of RFC 3339: ${JSON.stringify(sinceTime)}`)
  }
  return {
    follow: parseFlag(query, 'follow'),
    previous: parseFlag(query, 'previous'),
    timestamps: parseFlag(query, 'timestamps'),
    tailLines: tailLines as number | undefined,
    limitBytes: limitBytes as number | undefined,
    since: sinceSeconds === undefined ? since : now - Number(sinceSeconds) * 1000,
  }
}

function numberOf(query: URLSearchParams, name: string): number | undefined | StatusError {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  if (!NUMBER.test(text)) {
    return badRequest(`${name} must be a number of at least 0: ${JSON.stringify(text)}`)
  }
  return Number(text)
}

/**
 * 400 for a Pod to which no connection may be opened: one that does not run, one in the network of its node, or one
 * whose addresses are malformed, loopback, link-local or those of this server. Clients write the status of Pods, so
 * this is checked for each connection.
 */
export function undialable(
  pod: JsonObject,
  ownAddresses: readonly IpAddress[],
): StatusError | undefined {
  const name = JSON.stringify(stringAt(pod, 'metadata', 'name'))
  if (stringAt(pod, 'status', 'phase') !== 'Running') {
    return badRequest(`unable to forward ports because pod ${name} is not running`)
  }
  if ((pod['spec'] as JsonObject)['hostNetwork'] === true) {
    return badRequest(`ports of pod ${name} are not forwarded: it has the network of its node`)
  }
  const podIPs = arrayAt(pod, 'status', 'podIPs').map((one) => stringAt(one, 'ip'))
  const texts = podIPs.length > 0 ? podIPs : [stringAt(pod, 'status', 'podIP')]
  const isFine = texts.every((text) => {
    const ip = parseIp(text)
    return ip !== undefined && !isSpecialAddress(ip) && !ownAddresses.includes(ip)
  })
  if (isFine) return undefined
  return badRequest(`ports of pod ${name} are not forwarded: its addresses are not those of a pod`)
}
