import { StreamRefusal } from '../../streams/node-streams.ts'
import type { ServerContext } from '../context/server-context.ts'
import { type HandlerResult, STREAMING, type StreamRequest } from '../request/api-request.ts'
import { sendChunks } from '../request/send-chunks.ts'
import { StatusError } from '../status/status.ts'
import { tooManyRequests } from '../status/status-errors.ts'
import { containerOf, findPod, refusalStatus } from './find-pod.ts'
import { readLogQuery } from './log-options.ts'

/** GET of `pods/log`: the output of a container, as plain text. */
export async function log(context: ServerContext, request: StreamRequest): Promise<HandlerResult> {
  const wanted = readLogQuery(request.query, context.clock.now())
  if (wanted instanceof StatusError) return wanted
  const found = await findPod(context, request)
  if (found instanceof StatusError) return found
  const container = containerOf(found, request.query)
  if (container instanceof StatusError) return container
  const { streams } = context
  if (streams.isFull) return tooManyRequests('too many streams at one time', 5)
  const { response } = request
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
