import { isJsonObject, type Json } from '../../lib/json.ts'
import { type Field, fieldsOf } from '../schema/schema.ts'
import { mustBe } from './must-be.ts'
import { valueFault } from './value-fault.ts'

/** What of an object does not fit the message of its kind. */
export interface FieldFindings {
  /** Paths of fields that the message does not have: `spec.ports[0].prot`. */
  readonly unknown: readonly string[]
  /** Values of the wrong type: `spec.loadBalancerIP must be a string, not a number`. */
  readonly mistyped: readonly string[]
}

/** The findings so far and the way to where the walk is. */
interface Walk {
  readonly path: (string | number)[]
  readonly unknown: string[]
  readonly mistyped: string[]
}

/** Every object carries these two beside the fields of its message. */
const TYPE_FIELDS = ['apiVersion', 'kind']

const MAX_PATH_LENGTH = 200

/**
 * Holds an object against the schema, in one walk that makes nothing where all
 * is well. Null is an absent value, whatever the type.
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
