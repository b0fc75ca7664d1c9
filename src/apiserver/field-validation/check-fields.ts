import type { JsonObject } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { messageOf } from '../schema/message-of.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'
import { examineFields, type FieldFindings } from './examine-fields.ts'

interface DocumentType {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The fields that a client sent. */
export interface SentFields {
  /** The new object, in the request's version. */
  readonly object: JsonObject
  /** The old object; problems that it already has are not reported. */
  readonly before?: JsonObject
  /** The type of `object`, if it is not the requested one, as for some subresources. */
  readonly type?: DocumentType
  /** The body, if it is JSON, in which duplicate names are searched. */
  readonly body?: Buffer
}

/** The maximum number of fields that one answer names. */
const MAX_PROBLEMS = 100
const MAX_MISTYPED = 10
const MAX_PATH_LENGTH = 200

const DIRECTIVES = ['', 'Ignore', 'Warn', 'Strict']

/**
 * Refuses values of the wrong type: typed clients decode a list as a whole, so one such value would make the
 * whole list unreadable for them. For unknown and duplicate fields `?fieldValidation=` decides: Strict refuses
 * them, Warn (the default) answers with a warning for each, Ignore does nothing.
 */
export function checkFields(request: ApiRequest, sent: SentFields): StatusError | undefined {
  const directive = request.query.get('fieldValidation') ?? ''
  if (!DIRECTIVES.includes(directive)) return badRequest(wrongDirective(directive))
  const type = sent.type ?? { ...request.served, kind: request.served.resource.kind }
  const { unknown, mistyped } = newFindings(type, sent)
  if (mistyped.length > 0) return cannotBeHandled(type, mistyped.slice(0, MAX_MISTYPED))
  if (directive === 'Ignore') return undefined
  const problems = [...duplicates(sent), ...unknown.map((path) => `unknown field "${path}"`)]
  const reported = problems.slice(0, MAX_PROBLEMS)
  if (reported.length > 0 && directive === 'Strict') {
    return cannotBeHandled(type, reported, 'strict decoding error: ')
  }
  for (const problem of reported) request.warn(problem)
  return undefined
}

const NOTHING: FieldFindings = { unknown: [], mistyped: [] }

function newFindings(type: DocumentType, { object, before }: SentFields): FieldFindings {
  const message = messageOf(apiVersionOf(type), type.kind)
  if (message === undefined) return NOTHING
  const found = examineFields(message, object)
  if (before === undefined || found.unknown.length + found.mistyped.length === 0) return found
  const old = examineFields(message, before)
  return {
    unknown: added(old.unknown, found.unknown),
    mistyped: added(old.mistyped, found.mistyped),
  }
}

function added(before: readonly string[], after: readonly string[]): readonly string[] {
  const known = new Set(before)
  return after.filter((one) => !known.has(one))
}

function duplicates({ body }: SentFields): readonly string[] {
  const twice = body === undefined ? [] : duplicateFields(body.toString())
  return twice.map((path) => `duplicate field "${path.slice(0, MAX_PATH_LENGTH)}"`)
}

function cannotBeHandled(
  { version, kind }: DocumentType,
  problems: readonly string[],
  cause = '',
): StatusError {
  const list = problems.join(', ')
  return badRequest(
    `${kind} in version "${version}" cannot be handled as a ${kind}: ${cause}${list}`,
  )
}

function wrongDirective(directive: string): string {
  return `fieldValidation must be Ignore, Warn or Strict, not ${quote(directive)}`
}

/** An object or array that the scan is inside of. */
interface Frame {
  readonly path: string
  /** The names so far; undefined in an array. */
  readonly names: Set<string> | undefined
  /** The path of the member or element that is being read. */
  at: string
  /** Whether the next string is a name. */
  expectsName: boolean
  index: number
}

/**
 * The paths of duplicate names in the objects of a valid JSON text. Parsers keep the last value and silently
 * drop the earlier ones.
 */
export function duplicateFields(text: string): readonly string[] {
  const found: string[] = []
  const frames: Frame[] = []
  for (let index = 0; index < text.length; index++) {
    const frame = frames.at(-1)
    const character = text[index]
    if (character === '"') {
      const end = endOfString(text, index)
      if (frame?.expectsName === true) readName(frame, text.slice(index, end + 1), found)
      index = end
    } else if (character === '{' || character === '[') {
      frames.push(openFrame(frame?.at ?? '', character === '{'))
    } else if (character === '}' || character === ']') frames.pop()
    else if (character === ',' && frame !== undefined) nextMember(frame)
  }
  return found
}

function openFrame(path: string, isObject: boolean): Frame {
  const names = isObject ? new Set<string>() : undefined
  return { path, names, at: isObject ? path : `${path}[0]`, expectsName: isObject, index: 0 }
}

function nextMember(frame: Frame): void {
  if (frame.names === undefined) frame.at = `${frame.path}[${++frame.index}]`
  else frame.expectsName = true
}

function readName(frame: Frame, quoted: string, found: string[]): void {
  const name = JSON.parse(quoted) as string
  frame.at = frame.path === '' ? name : `${frame.path}.${name}`
  frame.expectsName = false
  if (frame.names?.has(name) === true) found.push(frame.at)
  frame.names?.add(name)
}

function endOfString(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index
}
