import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { type Field, fieldsOf, jsonFormOf, messageOf } from '../schema/schema.ts'
import { badRequest, type StatusError } from '../status/status.ts'

/** The group, version and kind of an object. */
export interface ObjectType {
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
  readonly type?: ObjectType
  /** The body, if it is JSON, in which duplicate names are searched. */
  readonly body?: Buffer
}

/** The maximum numbers of fields that one answer names: unknown or duplicate ones, and mistyped ones. */
const MAX_PROBLEMS = 100
const MAX_MISTYPED = 10
/** The maximum number of characters that an answer shows of the path of a field. */
const MAX_PATH_LENGTH = 200

const INT32 = 'an integer of 32 bits'
const INT64 = 'an integer of 64 bits'
const QUANTITY = 'a quantity such as "500m" or "1Gi"'
const TIME = 'a time such as "2006-01-02T15:04:05Z"'
const MICRO_TIME = 'a time such as "2006-01-02T15:04:05.000000Z"'

const QUANTITY_FORM = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,18})?$/

/** RFC 3339 as typed clients read it: capital letters, and the offset is not left out. */
const TIME_FORM =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d{1,9}))?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** The fields that every object has in addition to those of its message. */
const TYPE_FIELDS = ['apiVersion', 'kind']

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

function newFindings(type: ObjectType, { object, before }: SentFields): FieldFindings {
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
  { version, kind }: ObjectType,
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

/** The fields of an object that do not fit the message of its kind. */
interface FieldFindings {
  /** Paths of fields that the message does not have: `spec.ports[0].prot`. */
  readonly unknown: readonly string[]
  /** Values of the wrong type: `spec.loadBalancerIP must be a string, not a number`. */
  readonly mistyped: readonly string[]
}

/** The findings so far, and the path to the current position. */
interface Walk {
  readonly path: (string | number)[]
  readonly unknown: string[]
  readonly mistyped: string[]
}

/**
 * Compares an object with the schema, in one walk that allocates nothing if everything fits. Null counts as an
 * absent value for every type.
 */
export function examineFields(message: string, object: Json): FieldFindings {
  const walk: Walk = { path: [], unknown: [], mistyped: [] }
  walkValue(walk, message, object)
  return walk
}

function walkValue(walk: Walk, type: string, value: Json): void {
  if (value === null) return
  const fields = fieldsOf(type)
  if (fields === undefined) reportType(walk, valueFault(type, value))
  else if (isJsonObject(value)) walkMessage(walk, fields, value)
  else reportType(walk, mustBe('an object', value))
}

function walkMessage(
  walk: Walk,
  fields: ReadonlyMap<string, Field>,
  value: Readonly<Record<string, Json>>,
): void {
  const isRoot = walk.path.length === 0
  for (const name of Object.keys(value)) {
    walk.path.push(name)
    const field = fields.get(name)
    if (field !== undefined) walkField(walk, field, value[name]!)
    else if (isRoot && TYPE_FIELDS.includes(name)) walkValue(walk, 'string', value[name]!)
    else walk.unknown.push(pathText(walk))
    walk.path.pop()
  }
}

function walkField(walk: Walk, { type, shape }: Field, value: Json): void {
  if (shape === 'repeated') walkList(walk, type, value)
  else if (shape === 'map') walkMap(walk, type, value)
  else walkValue(walk, type, value)
}

function walkList(walk: Walk, type: string, value: Json): void {
  if (value === null) return
  if (!Array.isArray(value)) return reportType(walk, mustBe('a list', value))
  for (let index = 0; index < value.length; index++) {
    walk.path.push(index)
    walkValue(walk, type, value[index]!)
    walk.path.pop()
  }
}

function walkMap(walk: Walk, type: string, value: Json): void {
  if (value === null) return
  if (!isJsonObject(value)) return reportType(walk, mustBe('an object', value))
  for (const key of Object.keys(value)) {
    walk.path.push(key)
    walkValue(walk, type, value[key]!)
    walk.path.pop()
  }
}

function reportType(walk: Walk, fault: string | undefined): void {
  if (fault !== undefined) walk.mistyped.push(`${pathText(walk)} ${fault}`)
}

function pathText({ path }: Walk): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else text += text === '' ? part : `.${part}`
  }
  return text.slice(0, MAX_PATH_LENGTH)
}

/**
 * Why a value does not fit a type, which is a scalar or a message with a JSON form; undefined when it fits.
 */
export function valueFault(type: string, value: Json): string | undefined {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? undefined : mustBe('a string', value)
    case 'bytes':
      return typeof value === 'string' ? undefined : mustBe('a base64 string', value)
    case 'bool':
      return typeof value === 'boolean' ? undefined : mustBe('a boolean', value)
    case 'int32':
      return isInt32(value) ? undefined : mustBe(INT32, value, 'number')
    case 'int64':
      return isInt64(value) ? undefined : mustBe(INT64, value, 'number')
    default:
      return formFault(type, value)
  }
}

function formFault(type: string, value: Json): string | undefined {
  switch (jsonFormOf(type)) {
    case 'time':
      return isTimeText(value) ? undefined : mustBe(TIME, value, 'string')
    case 'micro-time':
      return isMicroTimeText(value) ? undefined : mustBe(MICRO_TIME, value, 'string')
    case 'int-or-string':
      if (typeof value === 'string' || isInt32(value)) return undefined
      return mustBe(`a string or ${INT32}`, value, 'number')
    case 'quantity':
      if (typeof value === 'number' || isQuantityText(value)) return undefined
      return mustBe(QUANTITY, value, 'string')
    case 'strings':
      return isStrings(value) ? undefined : mustBe('a list of strings', value)
    case 'any':
    case undefined:
      return undefined
  }
}

function isInt32(value: Json): boolean {
  return typeof value === 'number' && value === (value | 0)
}

/**
 * Whether a value is a 64-bit integer. -2^63 is refused: it would be written as -9223372036854776000, which clients
 * cannot read.
 */
function isInt64(value: Json): boolean {
  return Number.isInteger(value) && Math.abs(value as number) < 2 ** 63
}

function isStrings(value: Json): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

/**
 * The message for a wrong value: `must be a string, not a number`. The value itself is shown only if it has the
 * JSON type `almost` but is still wrong, so that no refusal shows the content of a Secret.
 */
function mustBe(wanted: string, value: Json, almost?: 'number' | 'string'): string {
  return `must be ${wanted}, not ${typeof value === almost ? quote(value) : typeOf(value)}`
}

function typeOf(value: Json): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'null'
  return isJsonObject(value) ? 'an object' : `a ${typeof value}`
}

/** Whether a value is a time. */
function isTimeText(value: unknown): boolean {
  return fractionOf(value) !== undefined
}

/** Whether a value is a time with exactly six digits of the second's fraction. */
function isMicroTimeText(value: unknown): boolean {
  return fractionOf(value)?.length === 6
}

/** The digits of the fraction; undefined when the value is no time. */
function fractionOf(value: unknown): string | undefined {
  const [, day = '', fraction = ''] = (typeof value === 'string' && TIME_FORM.exec(value)) || []
  return isDay(day) ? fraction : undefined
}

function isDay(text: string): boolean {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/** Whether a value is a decimal number with an optional suffix, such as `500m`, `1.5Gi` or `1e3`. */
function isQuantityText(value: unknown): boolean {
  return typeof value === 'string' && QUANTITY_FORM.test(value)
}
