import { create, toJsonString } from '@bufbuild/protobuf'
import { ChangeSchema } from '../../generated/inspection_pb.ts'
import type { InspectionSource } from '../../service/inspection-source.ts'
import type { Exchange } from './send-json.ts'
import { LINES_HEADERS } from './send-lines.ts'

/** Bytes that may wait for a reader; one that is further behind is cut off. */
const MAX_WAITING_BYTES = 1_000_000

/** Milliseconds after which the kernel checks whether a silent reader is there. */
const PROBE_MS = 30_000

/** Answers with the last changes and each further one, one JSON object a line, until the reader ends. */
export function sendChanges(
  { request, response }: Exchange,
  source: Pick<InspectionSource, 'watchChanges'>,
): void {
  response.writeHead(200, LINES_HEADERS)
  if (request.method === 'HEAD') return void response.end()
  // Nothing may happen for hours.
  request.socket.setTimeout(0)
  request.socket.setKeepAlive(true, PROBE_MS)
  response.flushHeaders()
  const stop = source.watchChanges((change) => {
    response.write(`${toJsonString(ChangeSchema, create(ChangeSchema, change))}\n`)
    if (response.writableLength > MAX_WAITING_BYTES) response.destroy()
  })
  response.once('close', stop)
}
