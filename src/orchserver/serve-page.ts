import type { Exchange, FileHandler } from '../apiserver/request/api-request.ts'
import { limitStall } from '../apiserver/request/end-response.ts'
import { type PageDocument, type PageFiles, readPageFiles } from '../page/serving/page-files.ts'
import { sendPageFile } from '../page/serving/send-page-file.ts'

export interface ServePageOptions {
  /** Milliseconds after which a client that reads nothing is disconnected. */
  readonly stalledMs: number
  /** Receives the error when the files cannot be read; the next request reads them again. */
  readonly onError: (error: unknown) => void
  readonly document: PageDocument
  /** Reads the files; absent: from the folder of the page. */
  readonly read?: typeof readPageFiles
}

type Served = Pick<Exchange, 'request' | 'response'>

const ROOT = '/page'

/** Answers requests for the page below `/page/`. Its files are read at the first request. */
export function servePage({
  stalledMs,
  onError,
  document,
  read = readPageFiles,
}: ServePageOptions): FileHandler {
  let files: Promise<PageFiles> | undefined
  const readOnce = (): Promise<PageFiles> => {
    files ??= read({ document }).catch((error: unknown) => {
      files = undefined
      throw error
    })
    return files
  }
  const answer = async (exchange: Served, path: string): Promise<void> => {
    const page = await readOnce()
    limitStall(exchange.response, stalledMs)
    if (!sendPageFile(exchange, page, path)) sendText(exchange, 404, 'no such file')
  }
  return (exchange) => {
    const { request, response } = exchange
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    if (path !== ROOT && !path.startsWith(`${ROOT}/`)) return false
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      sendText(exchange, 405, 'use GET or HEAD')
    } else if (path === ROOT) {
      response.setHeader('Location', `${ROOT.slice(1)}/`)
      sendText(exchange, 308, 'see page/')
    } else {
      answer(exchange, path.slice(ROOT.length + 1)).catch((error: unknown) => {
        onError(error)
        if (response.headersSent) response.destroy()
        else sendText(exchange, 500, 'the page cannot be read; see the log of orch-server')
      })
    }
    return true
  }
}

function sendText({ request, response }: Served, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`)
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': body.length,
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
