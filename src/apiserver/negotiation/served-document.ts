import { hash } from 'node:crypto'
import { allowsPlainJson, type MediaType, parseAccept } from '../encoding/media-type.ts'
import { type Exchange, type HandlerResult, type Reply, STREAMING } from '../request/api-request.ts'
import { notAcceptable } from '../status/status.ts'

/** One form of a document: the media types that it matches, and its content. */
export interface DocumentForm {
  /** Whether an alternative of an Accept header allows this form. */
  readonly matches: (alternative: MediaType) => boolean
  readonly contentType: string
  /** The content, generated at the first request and then cached. */
  readonly content: () => Content
}

/** A document about the server, in one or several forms. */
export type ServedDocument = readonly DocumentForm[]

interface Content {
  readonly bytes: Buffer
  readonly etag: string
}

/** A form whose bytes are generated once, when they are first needed. */
export function documentForm(
  matches: DocumentForm['matches'],
  contentType: string,
  make: () => Buffer,
): DocumentForm {
  let kept: Content | undefined
  const content = (): Content => {
    if (kept === undefined) {
      const bytes = make()
      kept = { bytes, etag: `"${hash('sha256', bytes, 'hex')}"` }
    }
    return kept
  }
  return { matches, contentType, content }
}

/** The plain JSON form, for clients that accept JSON. */
export function jsonForm(make: () => unknown): DocumentForm {
  const bytes = (): Buffer => Buffer.from(JSON.stringify(make()))
  return documentForm(allowsPlainJson, 'application/json', bytes)
}

/** The answer in the first form that the client's Accept header allows; 304 if the client already has it. */
export function documentReply(document: ServedDocument, exchange: Exchange): HandlerResult {
  for (const alternative of parseAccept(exchange.request.headers.accept ?? '*/*')) {
    const form = document.find(({ matches }) => matches(alternative))
    if (form !== undefined) return formReply(form, exchange)
  }
  return notAcceptable(document.map(({ contentType }) => contentType))
}

function formReply(form: DocumentForm, { request, response }: Exchange): Reply | typeof STREAMING {
  const { bytes, etag } = form.content()
  response.setHeader('ETag', etag)
  response.setHeader('Vary', 'Accept')
  if (!isKnown(request.headers['if-none-match'], etag)) {
    return { code: 200, contentType: form.contentType, body: [bytes] }
  }
  response.writeHead(304, { 'Cache-Control': 'no-cache, private' }).end()
  return STREAMING
}

function isKnown(header: string | undefined, etag: string): boolean {
  const known = (header ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}
