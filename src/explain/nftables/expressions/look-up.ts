import { fitsAny, fitsElement } from '../model/fits.ts'
import { isList, type Json, onlyMember } from '../model/json.ts'
import { listedElements, type SetElements } from '../model/set-elements.ts'
import type { Part } from '../model/value.ts'
import type { Evaluation } from './evaluated.ts'

/** Why a question about a set has no answer. */
export interface Unknown {
  readonly unknown: string
}

interface NamedElements {
  readonly name: string
  readonly elements: SetElements
}

/** A named set (`@name`) or an anonymous one. */
export function setOf(data: Json, { table, packet }: Evaluation): NamedElements | Unknown {
  const [name, inner] = onlyMember(data) ?? []
  if (name === 'set' && isList(inner)) return { name: '', elements: listedElements(inner) }
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

/** Whether a set has the key; undefined: its elements are not understood. */
export function isIn(set: NamedElements, parts: readonly Part[]): boolean | Unknown | undefined {
  const elements = set.elements.withKey(parts)
  return elements === undefined ? unread(set) : fitsAny(parts, elements)
}

/** The data of the element of a map that has the key; undefined: there is none. */
export function lookUp(set: NamedElements, parts: readonly Part[]): Json | undefined {
  const elements = set.elements.withKey(parts)
  if (elements === undefined) return { ...unread(set) }
  let unclear = false
  for (const pair of elements) {
    const [key, data] = isList(pair) ? pair : []
    const answer = fitsElement(parts, key ?? null)
    if (answer === true) return data ?? null
    if (answer === undefined) unclear = true
  }
  return unclear ? { unknown: 'the elements of a map' } : undefined
}

function unread({ name }: NamedElements): Unknown {
  return { unknown: `the elements of ${name}, which were not read` }
}
