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
])

/** The special JSON form of a message; undefined for a scalar and for an ordinary message. */
export function jsonFormOf(type: string): JsonForm | undefined {
  return forms.get(type)
}
