import table from './table.json' with { type: 'json' }

/**
 * The fields of a message in JSON, by name; undefined for an unknown message and for one that is not an object
 * in JSON (`jsonFormOf`).
 */
export function fieldsOf(message: string): ReadonlyMap<string, Field> | undefined {
  return messages.get(message)?.byName
}

/** The fields of a message on the wire, by number. */
export function wireFieldsOf(message: string): ReadonlyMap<number, Field> | undefined {
  return messages.get(message)?.byNumber
}

/** Every message of the schema, in alphabetical order. */
export function messageNames(): Iterable<string> {
  return messages.keys()
}

/** One field of a message, on the wire and in JSON. */
export interface Field {
  /** Its name in JSON. */
  readonly name: string
  /** Its field number in the message that contains it on the wire. */
  readonly number: number
  /**
   * `string`, `bool`, `int32`, `int64`, `bytes` (base64 in JSON), or the name of a message; for lists and maps
   * the type of the elements or values.
   */
  readonly type: string
  /** `inline`: a message on the wire whose fields are on the same level as the others in JSON. */
  readonly shape: 'one' | 'repeated' | 'map' | 'inline'
  /**
   * The meaning of a zero scalar. `implicit`: the same as absent. `optional`: zero. `always`: zero, and typed
   * clients always write the field in JSON.
   */
  readonly presence: 'implicit' | 'optional' | 'always'
}

/** The messages of the schema by name, in alphabetical order. */
const messages = readTable(table as never)

/**
 * The form of `table.json`: for each message and field its number and type. The type may have the prefix
 * `repeated`, `map`, `inline`, `optional` or `always`.
 */
type Table = Readonly<Record<string, Readonly<Record<string, readonly [number, string]>>>>

interface Message {
  readonly byNumber: ReadonlyMap<number, Field>
  readonly byName: ReadonlyMap<string, Field>
}

function readTable(table: Table): ReadonlyMap<string, Message> {
  const wire = new Map(Object.entries(table).map(([name, row]) => [name, readRow(row)]))
  const messages = new Map<string, Message>()
  for (const [name, fields] of wire) {
    const byNumber = new Map(fields.map((field) => [field.number, field]))
    const byName = new Map(inJson(wire, fields).map((field) => [field.name, field]))
    messages.set(name, { byNumber, byName })
  }
  return messages
}

function readRow(row: Table[string]): readonly Field[] {
  return Object.entries(row).map(([name, [number, text]]) => {
    const space = text.indexOf(' ')
    const prefix = text.slice(0, Math.max(space, 0))
    const type = text.slice(space + 1)
    return { name, number, type, shape: shapeOf(prefix), presence: presenceOf(prefix) }
  })
}

function shapeOf(prefix: string): Field['shape'] {
  return prefix === 'repeated' || prefix === 'map' || prefix === 'inline' ? prefix : 'one'
}

function presenceOf(prefix: string): Field['presence'] {
  return prefix === 'optional' || prefix === 'always' ? prefix : 'implicit'
}

/** The fields, with inline messages replaced by their fields. */
function inJson(
  wire: ReadonlyMap<string, readonly Field[]>,
  fields: readonly Field[],
): readonly Field[] {
  return fields.flatMap((field) =>
    field.shape === 'inline' ? inJson(wire, wire.get(field.type) ?? []) : [field],
  )
}

/** The protobuf package of each API group. Groups are written without the suffix of Kubernetes, or ours. */
const packages: ReadonlyMap<string, string> = new Map([
  ['', 'core'],
  ['apps', 'apps'],
  ['batch', 'batch'],
  ['discovery', 'discovery'],
  ['coordination', 'coordination'],
  ['events', 'events'],
  ['autoscaling', 'autoscaling'],
  ['networking', 'networking'],
  ['policy', 'policy'],
  ['policy.networking', 'policynetworking'],
  ['rbac.authorization', 'rbac'],
  ['authentication', 'authentication'],
  ['authorization', 'authorization'],
  ['certificates', 'certificates'],
  ['node', 'node'],
  ['storage', 'storage'],
  ['meta', 'meta'],
])

/** Kinds of options: clients send them with the apiVersion of the resource that they act on, but the message is that of meta.v1. */
const common = new Set(['DeleteOptions', 'CreateOptions', 'UpdateOptions', 'PatchOptions'])

/** The message of a kind, the same for both suffixes of its group; undefined: the schema has none. */
export function messageOf(apiVersion: string, kind: string): string | undefined {
  if (common.has(kind)) return `meta.v1.${kind}`
  if (apiVersion === 'v1' && kind === 'Status') return 'meta.v1.Status'
  const slash = apiVersion.lastIndexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  const name = packages.get(group.replace(/\.(?:k8s|orch)\.io$/, ''))
  const message = `${name}.${apiVersion.slice(slash + 1)}.${kind}`
  return messages.has(message) ? message : undefined
}

/** The JSON form of a message that is not an object in JSON. */
export type JsonForm =
  /** RFC 3339 in seconds, in UTC. */
  | 'time'
  /** RFC 3339 in microseconds, in UTC. */
  | 'micro-time'
  | 'int-or-string'
  /** Text such as `500m`; a number is accepted. */
  | 'quantity'
  /** Any JSON. */
  | 'any'
  | 'strings'

const forms: ReadonlyMap<string, JsonForm> = new Map([
  ['meta.v1.Time', 'time'],
  ['meta.v1.MicroTime', 'micro-time'],
  ['intstr.IntOrString', 'int-or-string'],
  ['resource.Quantity', 'quantity'],
  ['runtime.RawExtension', 'any'],
  ['meta.v1.FieldsV1', 'any'],
  ['authentication.v1.ExtraValue', 'strings'],
  ['authorization.v1.ExtraValue', 'strings'],
  ['certificates.v1.ExtraValue', 'strings'],
])

/** The special JSON form of a message; undefined for a scalar and for an ordinary message. */
export function jsonFormOf(type: string): JsonForm | undefined {
  return forms.get(type)
}
