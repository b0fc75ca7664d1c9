import type { Element, Table } from '../../kernel/nftables/objects.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import { isList, type Json, onlyMember } from './model/json.ts'
import type { NftTable } from './model/ruleset.ts'
import { listedElements, type SetElements } from './model/ruleset.ts'
import type { Part } from './model/value.ts'
import { fitsAny, fitsElement } from './model/value.ts'

/** Reads the element of a set with this key; undefined if it does not exist. */
export type LookUpElement = (table: Table, set: string, key: Buffer) => Promise<Element | undefined>

/** The context in which an expression is evaluated. */
export interface Evaluation {
  readonly packet: PacketState
  readonly hook: Hook
  readonly table: NftTable
  readonly facts: HostFacts
}

/** One of the values that an expression may have. */
export interface Chance {
  readonly probability: number
  readonly parts: readonly Part[]
}

/**
 * The values of an expression, whose probabilities sum to 1; empty if the packet has no such field, so that the rule
 * does not apply. `unknown` if the value cannot be interpreted or is not known.
 */
export type Evaluated = readonly Chance[] | { readonly unknown: string }

/** The packet does not have the field, so the rule does not apply. */
export const ABSENT: Evaluated = []

/** Why a query of a set has no answer. */
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

/** Whether a set has the key; undefined if its elements cannot be interpreted. */
export function isIn(set: NamedElements, parts: readonly Part[]): boolean | Unknown | undefined {
  const elements = set.elements.withKey(parts)
  return elements === undefined ? unread(set) : fitsAny(parts, elements)
}

/** The data of a map's element with this key; undefined if the map has no such element. */
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

export function isUnknown(evaluated: Evaluated): evaluated is { readonly unknown: string } {
  return 'unknown' in evaluated
}

/** The evaluation of an expression with one certain value. */
export function certain(...parts: readonly Part[]): Evaluated {
  return [{ probability: 1, parts }]
}
