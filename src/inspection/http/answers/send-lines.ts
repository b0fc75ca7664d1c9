import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { COMMON_HEADERS, type Exchange } from './send-json.ts'

/** Characters that are written at a time. */
const CHUNK_SIZE = 16_384

/** Headers of one JSON object a line. */
export const LINES_HEADERS = { ...COMMON_HEADERS, 'Content-Type': 'application/x-ndjson' }

/**
 * Answers with one JSON object a line. Lines are made as fast as the reader takes them. Where a line cannot be made,
 * the connection is cut, so that the reader knows that the list is not whole.
 * @throws why not
 */
export async function sendLines(
  { request, response }: Exchange,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  response.writeHead(200, LINES_HEADERS)
  if (request.method === 'HEAD') return void response.end()
  try {
    await pipeline(Readable.from(chunksOf(lines), { objectMode: true, highWaterMark: 1 }), response)
  } catch (error) {
    if (!isCut(error)) throw error
  }
}

async function* chunksOf(lines: Iterable<string> | AsyncIterable<string>) {
  let chunk = ''
  for await (const line of lines) {
    chunk += `${line}\n`
    if (chunk.length < CHUNK_SIZE) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

/** The reader closed the connection. */
function isCut(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'].includes(code)
}
