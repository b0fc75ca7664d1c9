import { type Field, messages } from './messages.ts'

export { messageOf } from './message-of.ts'
export type { Field } from './messages.ts'

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
