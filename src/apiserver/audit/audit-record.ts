import type { ServerResponse } from 'node:http'
import { isPathAction } from '../../auth/action.ts'
import type { User } from '../../auth/user.ts'
import { isJsonObject, type Json, objectAt, stringAt } from '../../lib/json.ts'
import { parseJson } from '../encoding/parse-json.ts'
import type { ExpectedType } from '../protobuf/decode-protobuf.ts'
import { type HandlerResult, type Reply, STREAMING } from '../request/api-request.ts'
import { StatusError } from '../status/status.ts'
import {
  type AnsweredStatus,
  type CreatedObject,
  type EventSource,
  type EventStage,
  eventLine,
  truncatedAnnotation,
} from './event/audit-event.ts'
import { type Body, type ShownBody, shownBody } from './event/shown-body.ts'
import { type AuditRule, includesRequest, type Level, type Stage } from './policy/audit-policy.ts'
import { ReplyCapture } from './reply-capture.ts'

/** The record of one request, from its arrival to the end of its answer. */
export interface AuditRecord {
  /** For the header `Audit-Id` of the answer; undefined: the request is not audited. */
  readonly auditId: string | undefined
  /** The user that the request acts as, once that is allowed. */
  impersonated(user: User): void
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
}

export interface RecordOptions {
  readonly source: EventSource
  readonly rule: Pick<AuditRule, 'omitStages' | 'omitManagedFields'>
  readonly expected: ExpectedType
}

const PANIC: AnsweredStatus = {
  code: 500,
  reason: 'InternalError',
  message: 'the server failed because of a bug; its log says more',
}

/** Messages of these answers may repeat a part of the body. */
const QUOTING_CODES = new Set([400, 409, 422])
const MAX_DEPTH = 500
const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

/** A request that is audited: `source.level` is at least Metadata. */
export class RequestRecord implements AuditRecord {
  readonly #context: RecordContext
  readonly #options: RecordOptions
  readonly #annotations: Record<string, string> = {}
  #impersonated: User | undefined
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

  impersonated(user: User): void {
    this.#impersonated = user
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
    this.#created = this.#createdBy(result)
    if (this.#options.source.level !== 'RequestResponse') return result
    this.#capture = new ReplyCapture(result)
    return this.#capture.reply
  }

  /** A request that creates does not name the object in its path. */
  #createdBy({ body, contentType }: Reply): CreatedObject | undefined {
    const { action } = this.#options.source
    if (isPathAction(action) || action.verb !== 'create' || action.name !== '') return undefined
    if (!Array.isArray(body) || !contentType.startsWith('application/json')) return undefined
    const object = parseJson(Buffer.concat(body as readonly Buffer[]), MAX_DEPTH)
    if (object instanceof StatusError || !isJsonObject(object)) return undefined
    const metadata = objectAt(object, 'metadata')
    return {
      name: stringAt(metadata, 'name'),
      uid: stringAt(metadata, 'uid'),
      resourceVersion: stringAt(metadata, 'resourceVersion'),
    }
  }

  #complete(response: ServerResponse): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!response.headersSent) this.#status = undefined
    this.#emit('ResponseComplete', this.#requestBody(), this.#responseBody())
  }

  #requestBody(): ShownBody {
    return this.#body && shownBody(this.#body, this.#options.rule.omitManagedFields)
  }

  #responseBody(): ShownBody {
    const capture = this.#capture
    if (capture === undefined) return undefined
    const { bytes } = capture
    if (bytes === 'cut') return 'cut'
    const { expected, rule } = this.#options
    const { contentType } = capture.reply
    return shownBody({ bytes, contentType, expected }, rule.omitManagedFields)
  }

  #emit(stage: Stage, request?: ShownBody, response?: ShownBody): void {
    const { source, rule } = this.#options
    if (rule.omitStages.has(stage)) return
    const { now, write } = this.#context
    const isTruncated = request === 'cut' || response === 'cut'
    const event: EventStage = {
      stage,
      at: now(),
      impersonated: this.#impersonated,
      created: this.#created,
      status: this.#status && this.#shownStatus(this.#status, documentOf(request) !== undefined),
      requestObject: documentOf(request),
      responseObject: documentOf(response),
      annotations: { ...this.#annotations, ...truncatedAnnotation(isTruncated) },
    }
    write(eventLine(source, event), source.level)
  }

  /** Without the message where that may repeat a part of a body that is not shown. */
  #shownStatus(status: AnsweredStatus, isBodyShown: boolean): AnsweredStatus {
    const { verb } = this.#options.source.action
    const isQuoting = QUOTING_CODES.has(status.code) && WRITES.has(verb)
    return isQuoting && !isBodyShown ? { ...status, message: undefined } : status
  }
}

function documentOf(body: ShownBody): Json | undefined {
  return typeof body === 'object' ? body.document : undefined
}
