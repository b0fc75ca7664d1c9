import { isJsonObject, type Json } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { jsonFormOf } from '../schema/json-form.ts'
import { type Field, fieldsOf } from '../schema/schema.ts'

const INT32 = 'an integer of 32 bits'
const INT64 = 'an integer of 64 bits'
const QUANTITY = 'a quantity such as "500m" or "1Gi"'
const TIME = 'a time such as "2006-01-02T15:04:05Z"'
const MICRO_TIME = 'a time such as "2006-01-02T15:04:05.000000Z"'

/** The fields of an object that do not fit the message of its kind. */
export interface FieldFindings {
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

/** The fields that every object has in addition to those of its message. */
const TYPE_FIELDS = ['apiVersion', 'kind']

const MAX_PATH_LENGTH = 200

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
 * Why a value does not fit a type, which is a scalar or a message with a JSON
 * form; undefined when it fits.
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

/** Whether a value is a 64-bit integer. The decimal form of the largest double below 2^63 is still in range. */
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

const QUANTITY_FORM = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,18})?$/

/** RFC 3339 as typed clients read it: capital letters, and the offset is not left out. */
const TIME_FORM =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d{1,9}))?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

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
