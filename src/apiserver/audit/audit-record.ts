import type { ServerResponse } from 'node:http'
import type { Json } from '../../lib/json.ts'
import type { ExpectedType } from '../protobuf/decode-protobuf.ts'
import { type HandlerResult, STREAMING } from '../request/api-request.ts'
import { StatusError } from '../status/status.ts'
import { type AnsweredStatus, PANIC, withoutQuotes } from './event/answered-status.ts'
import { type EventSource, eventLine, truncatedAnnotation } from './event/audit-event.ts'
import { type CreatedObject, createdObject } from './event/created-object.ts'
import { type Body, type ShownBody, shownBody } from './event/shown-body.ts'
import { type AuditRule, includesRequest, type Level, type Stage } from './policy/audit-policy.ts'
import { ReplyCapture } from './reply-capture.ts'

/** The record of one request, from its arrival to the end of its answer. */
export interface AuditRecord {
  /** For the header `Audit-Id` of the answer; undefined: the request is not audited. */
  readonly auditId: string | undefined
  /** What authorization decided, and why. */
  authorized(decision: 'allow' | 'forbid', reason: string): void
  /** The body has arrived. `contentType` is the header; empty when absent. */
  received(bytes: Buffer, contentType: string): void
  /**
   * The answer is decided. Returns what is to be sent, which may be another object with the same
   * bytes; the event `ResponseComplete` follows when the response closes.
   */
  respond(result: HandlerResult, response: ServerResponse): HandlerResult
  /** A bug ended the request: the event `Panic`, and no other after it. */
  panic(): void
}

/** What the records of all requests share. */
export interface RecordContext {
  readonly now: () => number
  readonly write: (line: string, level: Level) => void
  readonly onError: (error: unknown) => void
}

export interface RecordOptions {
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

  /** A bug of a parser costs the event its body, and nothing else. */
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
