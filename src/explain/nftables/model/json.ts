/** Any value that `nft -j` prints. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** An object of `nft -j`. */
export interface JsonObject {
  readonly [name: string]: Json | undefined
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/** The only member of an object such as `{"match": {…}}`; undefined for anything else. */
export function onlyMember(value: Json | undefined): readonly [string, Json] | undefined {
  if (!isObject(value)) return undefined
  const members = Object.entries(value)
  const [name, inner] = members[0] ?? []
  return members.length === 1 && name !== undefined ? [name, inner ?? null] : undefined
}

/** The text if the value is one, else an empty text. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
