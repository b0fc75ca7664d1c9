import { fitsElement } from '../model/fits.ts'
import { isList, type Json, onlyMember } from '../model/json.ts'
import type { Part } from '../model/value.ts'
import type { Evaluation } from './evaluated.ts'

/** The elements of a named set (`@name`) or of an anonymous one. */
export function setOf(
  data: Json,
  { table, packet }: Evaluation,
): { readonly elements: readonly Json[] } | { readonly unknown: string } {
  const [name, inner] = onlyMember(data) ?? []
  if (name === 'set' && isList(inner)) return { elements: inner }
  if (typeof data !== 'string' || !data.startsWith('@')) return { unknown: 'a set' }
  const set = table.sets.get(data.slice(1))
  if (set === undefined) return { unknown: `the set ${data.slice(1)}, which is not listed` }
  const isChanged = packet.setChanges.some((change) => change.set === setName(table, data))
  return isChanged ? { unknown: `the set ${set.name}, which this packet has changed` } : set
}

/** A name for `setChanges`. */
export function setName({ family, name }: Evaluation['table'], reference: string): string {
  return `nft ${family} ${name} ${reference.slice(1)}`
}

/** The data of the element of a map that has the key; undefined: there is none. */
export function lookUp(elements: readonly Json[], parts: readonly Part[]): Json | undefined {
  let unclear = false
  for (const pair of elements) {
    const [key, data] = isList(pair) ? pair : []
    const answer = fitsElement(parts, key ?? null)
    if (answer === true) return data ?? null
    if (answer === undefined) unclear = true
  }
  return unclear ? { unknown: 'the elements of a map' } : undefined
}
