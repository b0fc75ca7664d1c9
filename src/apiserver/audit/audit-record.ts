import type { ServerResponse } from 'node:http'
import { type Action, isPathAction } from '../../auth/action.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  ownValue,
  stringAt,
  without,
} from '../../lib/json.ts'
import { decodeProtobuf, type ExpectedType, PROTOBUF } from '../encoding/decode-protobuf.ts'
import { parseMediaType, YAML } from '../encoding/media-type.ts'
import { parseJson } from '../encoding/parse-json.ts'
import { parseYaml } from '../encoding/yaml.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { type HandlerResult, type Reply, STREAMING } from '../request/api-request.ts'
import type { ServedVersion } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import {
  type AnsweredStatus,
  type CreatedObject,
  createdObject,
  type EventSource,
  eventLine,
  PANIC,
  truncatedAnnotation,
  withoutQuotes,
} from './audit-event.ts'
import { type AuditRule, includesRequest, type Level, type Stage } from './audit-policy.ts'

/** The limit of bytes of a shown body. No stored object is larger, so none is left out of the log because of its size. */
const MAX_BODY_BYTES = 1_572_864
const MAX_DEPTH = 500

/** The record of one request, from its arrival to the end of its answer. */
export interface AuditRecord {
  /** The value of the header `Audit-Id` of the answer; undefined: the request is not audited. */
  readonly auditId: string | undefined
  /** Records the decision of authorization, and its reason. */
  authorized(decision: 'allow' | 'forbid', reason: string): void
  /** Records the body. `contentType`: the header; empty when absent. */
  received(bytes: Buffer, contentType: string): void
  /**
   * Records the answer. Returns the answer to send, which may be another object with the same bytes. The event
   * `ResponseComplete` follows when the response closes.
   */
  respond(result: HandlerResult, response: ServerResponse): HandlerResult
  /** Records that a bug ended the request: makes the event `Panic`, the last of the request. */
  panic(): void
}

/** The context that the records of all requests share. */
interface RecordContext {
  readonly now: () => number
  readonly write: (line: string, level: Level) => void
  readonly onError: (error: unknown) => void
}

interface RecordOptions {
  readonly source: EventSource
  readonly rule: Pick<AuditRule, 'omitStages' | 'omitManagedFields'>
  readonly expected: ExpectedType
}

/** A request that is audited: `source.level` is at least Metadata. */
export class RequestRecord implements AuditRecord {
  readonly #context: RecordContext
  readonly #options: RecordOptions
  readonly #annotations: Record<string, string> = {}
  #body: Body | undefined
  #capture: ReplyCapture | undefined
  #status: AnsweredStatus | undefined
  #created: CreatedObject | undefined
  #isOver = false

  constructor(context: RecordContext, options: RecordOptions) {
    this.#context = context
    this.#options = options
    this.#emit('RequestReceived')
  }

  get auditId(): string {
    return this.#options.source.auditId
  }

  authorized(decision: 'allow' | 'forbid', reason: string): void {
    this.#annotations['authorization.k8s.io/decision'] = decision
    this.#annotations['authorization.k8s.io/reason'] = reason
  }

  received(bytes: Buffer, contentType: string): void {
    const { source, expected } = this.#options
    if (includesRequest(source.level)) this.#body = { bytes, contentType, expected }
  }

  respond(result: HandlerResult, response: ServerResponse): HandlerResult {
    if (this.#isOver) return result
    const sent = this.#remember(result, response)
    if (result === STREAMING && !response.destroyed) this.#emit('ResponseStarted')
    if (response.destroyed) this.#complete(response)
    else response.once('close', () => this.#complete(response))
    return sent
  }

  panic(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#status = PANIC
    this.#emit('Panic', this.#requestBody())
  }

  #remember(result: HandlerResult, response: ServerResponse): HandlerResult {
    if (result === STREAMING) {
      this.#status = response.headersSent ? { code: response.statusCode } : undefined
      return result
    }
    if (result instanceof StatusError) {
      this.#status = result.status
      return result
    }
    this.#status = { code: result.code }
    this.#created = createdObject(this.#options.source.action, result)
    if (this.#options.source.level !== 'RequestResponse') return result
    this.#capture = new ReplyCapture(result)
    return this.#capture.reply
  }

  #complete(response: ServerResponse): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!response.headersSent) this.#status = undefined
    this.#emit('ResponseComplete', this.#requestBody(), this.#responseBody())
  }

  #requestBody(): ShownBody {
    return this.#body && this.#shown(this.#body)
  }

  #responseBody(): ShownBody {
    const capture = this.#capture
    if (capture === undefined) return undefined
    const { bytes, reply } = capture
    if (bytes === 'cut') return 'cut'
    const { expected } = this.#options
    return this.#shown({ bytes, contentType: reply.contentType, expected })
  }

  /** The body to show. If a bug makes the parser throw, only the body is missing in the event. */
  #shown(body: Body): ShownBody {
    try {
      return shownBody(body, this.#options.rule.omitManagedFields)
    } catch (error) {
      this.#context.onError(error)
      return 'cut'
    }
  }

  #emit(stage: Stage, request?: ShownBody, response?: ShownBody): void {
    const { source, rule } = this.#options
    if (rule.omitStages.has(stage)) return
    const { now, write } = this.#context
    const [requestObject, responseObject] = [documentOf(request), documentOf(response)]
    const isTruncated = request === 'cut' || response === 'cut'
    const line = eventLine(source, {
      stage,
      at: now(),
      created: this.#created,
      status: this.#shownStatus(requestObject !== undefined),
      requestObject,
      responseObject,
      annotations: { ...this.#annotations, ...truncatedAnnotation(isTruncated) },
    })
    write(line, source.level)
  }

  #shownStatus(isBodyShown: boolean): AnsweredStatus | undefined {
    const status = this.#status
    if (status === undefined || isBodyShown) return status
    return withoutQuotes(status, this.#options.source.action.verb)
  }
}

function documentOf(body: ShownBody): Json | undefined {
  return typeof body === 'object' ? body.document : undefined
}

/** Collects the bytes of an answer while they are sent, up to the limit of what is shown. */
class ReplyCapture {
  /** The answer to send instead of the given one; it has the same bytes. */
  readonly reply: Reply
  #chunks: Buffer[] = []
  #length = 0
  #isWhole = false

  constructor(reply: Reply) {
    const { body } = reply
    if (Array.isArray(body)) {
      for (const chunk of body as readonly Buffer[]) this.#keep(chunk)
      this.#isWhole = true
      this.reply = reply
    } else this.reply = { ...reply, body: this.#passing(body) }
  }

  /** All bytes; `cut`: there were too many, or they were not all sent. */
  get bytes(): Buffer | 'cut' {
    const isKept = this.#isWhole && this.#length <= MAX_BODY_BYTES
    return isKept ? Buffer.concat(this.#chunks) : 'cut'
  }

  *#passing(body: Iterable<Buffer>): Generator<Buffer> {
    for (const chunk of body) {
      this.#keep(chunk)
      yield chunk
    }
    this.#isWhole = true
  }

  #keep(chunk: Buffer): void {
    this.#length += chunk.length
    if (this.#length > MAX_BODY_BYTES) this.#chunks = []
    else this.#chunks.push(chunk)
  }
}

interface Body {
  readonly bytes: Buffer
  /** The Content-Type header; empty: JSON. */
  readonly contentType: string
  /** The type of a protobuf body that does not name its type. */
  readonly expected: ExpectedType
}

/** `cut`: there is a document, but it is too large to be shown. */
type ShownBody = { readonly document: Json } | 'cut' | undefined

/**
 * The document of a body as an event shows it. Undefined: there is no document, it cannot be read, or it
 * contains something that is never shown.
 */
function shownBody(body: Body, omitManagedFields: boolean): ShownBody {
  const { bytes } = body
  if (bytes.length === 0) return undefined
  if (bytes.length > MAX_BODY_BYTES) return 'cut'
  const document = parse(body)
  if (document instanceof StatusError || holdsWithheld(document)) return undefined
  return { document: omitManagedFields ? withoutManagedFields(document) : document }
}

function parse({ bytes, contentType, expected }: Body): Json | StatusError {
  const { type } = parseMediaType(contentType)
  if (type === PROTOBUF) return decodeProtobuf(bytes, expected)
  return type === YAML || type.endsWith('+yaml')
    ? parseYaml(bytes, MAX_DEPTH)
    : parseJson(bytes, MAX_DEPTH)
}

function withoutManagedFields(document: Json): Json {
  if (!isJsonObject(document)) return document
  const stripped = stripMetadata(document)
  const { items, rows } = stripped
  return {
    ...stripped,
    ...(Array.isArray(items) && { items: items.map(stripObject) }),
    ...(Array.isArray(rows) && { rows: rows.map(stripRow) }),
  }
}

function stripRow(row: Json): Json {
  if (!isJsonObject(row) || !isJsonObject(row['object'])) return row
  return { ...row, object: stripMetadata(row['object']) }
}

function stripObject(object: Json): Json {
  return isJsonObject(object) ? stripMetadata(object) : object
}

function stripMetadata(object: JsonObject): JsonObject {
  const { metadata } = object
  if (!isJsonObject(metadata)) return object
  return { ...object, metadata: without(metadata, 'managedFields') }
}

const confidential = catalogue.filter((resource) => resource.isConfidential)

/** Names of resources that are confidential in every group. */
const RESOURCES = new Set(confidential.map(({ plural }) => plural))
const SUBRESOURCES = new Set(['token'])
const KINDS = new Set([...confidential.map(({ kind }) => kind.toLowerCase()), 'tokenrequest'])

/**
 * Whether bodies of such requests are never shown, whatever the policy says: those of confidential resources
 * and their subresources, those with tokens, and those for paths that are not of a served resource.
 */
export function isWithheld(action: Action, served: ServedVersion | undefined): boolean {
  if (isPathAction(action) || served === undefined || served.resource.isConfidential) return true
  return RESOURCES.has(action.resource) || SUBRESOURCES.has(action.subresource)
}

/** Whether a document contains a confidential object, which may have been sent to the path of another kind. */
function holdsWithheld(document: Json): boolean {
  return [document, ...partsOf(document)].some((part) =>
    KINDS.has(stringAt(part, 'kind').toLowerCase().replace(/list$/, '')),
  )
}

/** The items of a list, the objects in the rows of a Table, and the values of a JSON patch. */
function partsOf(document: Json): readonly Json[] {
  if (Array.isArray(document)) return document.flatMap((step) => valueOf(step, 'value'))
  const rows = arrayAt(document, 'rows').flatMap((row) => valueOf(row, 'object'))
  return [...arrayAt(document, 'items'), ...rows]
}

function valueOf(object: Json, key: string): readonly Json[] {
  const value = isJsonObject(object) ? ownValue(object, key) : undefined
  return value === undefined ? [] : [value]
}
