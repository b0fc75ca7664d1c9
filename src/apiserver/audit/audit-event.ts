import { type Action, isPathAction } from '../../auth/action.ts'
import type { User } from '../../auth/user.ts'
import { isJsonObject, type Json, objectAt, stringAt } from '../../lib/json.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'
import { JSON_TYPE } from '../encoding/media-type.ts'
import { parseJson } from '../encoding/parse-json.ts'
import type { Reply } from '../request/api-request.ts'
import { type StatusDetails, StatusError } from '../status/status.ts'
import type { Level, Stage } from './audit-policy.ts'

/** The identity of a created object, which the path of its request does not name. */
export interface CreatedObject {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

const MAX_DEPTH = 500

/** The HTTP code of an answer, with the fields of its Status if it has one. */
export interface AnsweredStatus {
  readonly code: number
  readonly reason?: string
  readonly message?: string | undefined
  readonly details?: StatusDetails
}

export const PANIC: AnsweredStatus = {
  code: 500,
  reason: 'InternalError',
  message: 'the server failed because of a bug; its log says more',
}

/** Messages of these answers may repeat a part of the body. */
const QUOTING_CODES = new Set([400, 409, 422])
const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

const MAX_URI = 2048
const REDACTED = '[redacted]'

/** A query parameter. Its name contains no character that begins another one, so that matching takes linear time. */
const PARAMETER = /([?&;#])([^=&;#?]*)=([^&#]*)/g
const SECRET_NAME =
  /token|secret|passw|pwd|auth(?!or(?!i[sz]))|credential|signature|api-?key|private|cookie|session|jwt|bearer|^(?:key|sig|code)$/i

/** The fields that all events of a request share. */
export interface EventSource {
  readonly auditId: string
  readonly level: Level
  /** The request target as it was sent. */
  readonly uri: string
  readonly action: Action
  /** Version of the resource, such as `v1`; empty for other paths. */
  readonly version: string
  /** Undefined: no credentials were accepted. */
  readonly user: User | undefined
  /** The user that the request acts as; undefined: its sender. */
  readonly impersonated: User | undefined
  readonly sourceIPs: readonly string[]
  readonly userAgent: string
  /** Milliseconds since the epoch. */
  readonly receivedAt: number
}

/** The fields of one event that depend on its stage. */
export interface EventStage {
  readonly stage: Stage
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly created?: CreatedObject | undefined
  readonly status?: AnsweredStatus | undefined
  readonly requestObject?: Json | undefined
  readonly responseObject?: Json | undefined
  readonly annotations: Readonly<Record<string, string>>
}

const MAX_TEXT = 1024
const MAX_NAME = 512
const MAX_VALUES = 100
const MAX_LINE = 4 << 20

const TRUNCATED = { 'audit.k8s.io/truncated': 'true' }

/** One event as one line of JSON. Nothing that a client sends can break the line or control a terminal. */
export function eventLine(source: EventSource, stage: EventStage): string {
  const line = escaped(JSON.stringify(eventDocument(source, stage)))
  if (line.length <= MAX_LINE) return line
  const annotations = { ...stage.annotations, ...TRUNCATED }
  const bodies = { requestObject: undefined, responseObject: undefined }
  return escaped(JSON.stringify(eventDocument(source, { ...stage, ...bodies, annotations })))
}

export function truncatedAnnotation(isTruncated: boolean): Readonly<Record<string, string>> {
  return isTruncated ? TRUNCATED : {}
}

function eventDocument(source: EventSource, stage: EventStage): object {
  const { action, user } = source
  const { status, requestObject, responseObject, annotations } = stage
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: source.level,
    auditID: source.auditId,
    stage: stage.stage,
    requestURI: safeUri(source.uri),
    verb: safeText(action.verb, MAX_NAME),
    user: user === undefined ? {} : userDocument(user),
    impersonatedUser: source.impersonated && userDocument(source.impersonated),
    sourceIPs: source.sourceIPs,
    userAgent: source.userAgent === '' ? undefined : safeText(source.userAgent, MAX_TEXT),
    objectRef: objectReference(source, stage.created),
    responseStatus: status && responseStatus(status),
    requestObject,
    responseObject,
    requestReceivedTimestamp: microTime(source.receivedAt),
    stageTimestamp: microTime(stage.at),
    annotations: Object.keys(annotations).length === 0 ? undefined : bounded(annotations),
  }
}

function userDocument({ name, uid, groups, extra }: User): object {
  const shown = extra && [...extra].slice(0, MAX_VALUES)
  return {
    username: safeText(name, MAX_NAME),
    uid: uid === undefined ? undefined : safeText(uid, MAX_NAME),
    groups: texts(groups),
    extra:
      shown &&
      Object.fromEntries(shown.map(([key, values]) => [safeText(key, MAX_NAME), texts(values)])),
  }
}

function texts(values: readonly string[]): readonly string[] {
  return values.slice(0, MAX_VALUES).map((value) => safeText(value, MAX_NAME))
}

function objectReference(
  { action, version }: EventSource,
  created: CreatedObject | undefined,
): object | undefined {
  if (isPathAction(action)) return undefined
  const { resource, namespace, name, group, subresource } = action
  const unlessEmpty = (text: string): string | undefined =>
    text === '' ? undefined : safeText(text, MAX_NAME)
  return {
    resource,
    namespace: unlessEmpty(namespace),
    name: unlessEmpty(name || (created?.name ?? '')),
    uid: unlessEmpty(created?.uid ?? ''),
    apiGroup: unlessEmpty(canonicalGroup(group)),
    apiVersion: unlessEmpty(version),
    resourceVersion: unlessEmpty(created?.resourceVersion ?? ''),
    subresource: unlessEmpty(subresource),
  }
}

/** The Status of a response without its causes, which repeat values of the object. */
function responseStatus({ code, reason, message, details }: AnsweredStatus): object {
  if (reason === undefined) return { metadata: {}, code }
  const { name, group, kind, uid } = details ?? {}
  return {
    metadata: {},
    status: 'Failure',
    message: message === undefined ? undefined : safeText(message, MAX_TEXT),
    reason,
    details: details && bounded({ name, group, kind, uid }),
    code,
  }
}

function bounded(texts: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given = Object.entries(texts).flatMap(([key, text]) =>
    text === undefined ? [] : [[safeText(key, MAX_NAME), safeText(text, MAX_TEXT)] as const],
  )
  return Object.fromEntries(given.slice(0, MAX_VALUES))
}

/** RFC 3339 in UTC with six digits of the second, as `metav1.MicroTime` is written. */
function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`
}

/**
 * Escapes characters that JSON allows in strings, but that some readers treat as the end of a line (U+0085,
 * U+2028, U+2029) or that control a terminal (C1 controls, writing directions).
 */
function escaped(line: string): string {
  return line.replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (one) => {
      return `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
    },
  )
}

/** The request target as it was sent, without the values of parameters that may be secret. */
function safeUri(uri: string): string {
  const start = uri.slice(0, 4 * MAX_URI)
  const shown = start.replace(PARAMETER, (whole: string, ...parts: readonly string[]) => {
    const [mark = '', name = '', value = ''] = parts
    return isSecret(name, value) ? `${mark}${name}=${REDACTED}` : whole
  })
  const rest = uri.length > start.length ? '…' : ''
  return safeText(`${shown}${rest}`, MAX_URI)
}

/**
 * Whether the parameter may be secret. Some programs treat a semicolon as the end of a parameter, others as
 * part of its value.
 */
function isSecret(name: string, value: string): boolean {
  const names = value.split(';').flatMap((part) => (part.includes('=') ? part.split('=', 1) : []))
  return [name, ...names].some((one) => SECRET_NAME.test(decode(one)))
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}

/** The status without its message if that may quote the body, which is not shown. */
export function withoutQuotes(status: AnsweredStatus, verb: string): AnsweredStatus {
  const isQuoting = QUOTING_CODES.has(status.code) && WRITES.has(verb)
  return isQuoting ? { ...status, message: undefined } : status
}

/** The identity of the object in the answer to a create request. */
export function createdObject(action: Action, answer: Reply): CreatedObject | undefined {
  const { body, contentType } = answer
  if (isPathAction(action) || action.verb !== 'create' || action.name !== '') return undefined
  if (!Array.isArray(body) || !contentType.startsWith(JSON_TYPE)) return undefined
  const object = parseJson(Buffer.concat(body as readonly Buffer[]), MAX_DEPTH)
  if (object instanceof StatusError || !isJsonObject(object)) return undefined
  const metadata = objectAt(object, 'metadata')
  return {
    name: stringAt(metadata, 'name'),
    uid: stringAt(metadata, 'uid'),
    resourceVersion: stringAt(metadata, 'resourceVersion'),
  }
}

const CUT = '…[cut]'
/** How many times the shown length is searched for tokens. A token that is cut first would not be recognized. */
const SEARCHED = 4

/** Characters of tokens in a row; each row is examined once, so that no text takes long. */
const ROW = /[A-Za-z0-9_.-]{20,}/g
const SCHEME = /bearer|basic/i
const CREDENTIALS = /(Bearer|Basic)(?:\s|%20|\+)+[A-Za-z0-9\-._~+/%]{8,}=*/gi
const USER_INFO = /(https?:\/\/)[^\s/@"\\]+@/gi

/** A text of a client at most `max` characters long, without tokens and passwords in URLs. */
function safeText(text: string, max: number): string {
  const scrubbed = scrub(text.length > SEARCHED * max ? text.slice(0, SEARCHED * max) : text)
  const isWhole = text.length <= SEARCHED * max && scrubbed.length <= max
  return isWhole ? scrubbed : `${scrubbed.slice(0, max - CUT.length)}${CUT}`
}

/** The text without tokens, and without passwords in URLs. Quick checks come first, because most texts have neither. */
function scrub(text: string): string {
  const withoutPasswords = text.includes('://') ? text.replace(USER_INFO, `$1${REDACTED}@`) : text
  const withoutJwt = text.includes('eyJ')
    ? withoutPasswords.replace(ROW, withoutTokens)
    : withoutPasswords
  return SCHEME.test(text) ? withoutJwt.replace(CREDENTIALS, `$1 ${REDACTED}`) : withoutJwt
}

/** JSON web tokens: three parts between dots, the first a JSON object in base64 (`eyJ`). */
function withoutTokens(row: string): string {
  const parts = row.split('.')
  const shown: string[] = []
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    const start = part.indexOf('eyJ')
    const isToken = start >= 0 && part.length - start > 10 && index + 2 < parts.length
    shown.push(isToken ? part.slice(0, start) + REDACTED : part)
    if (isToken) index += 2
  }
  return shown.join('.')
}
