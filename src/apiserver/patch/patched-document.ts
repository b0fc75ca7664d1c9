import { isJsonObject, type Json, setOwn } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { indexOf, type Location, locationOf, valueAtPointer } from './json-pointer.ts'

/**
 * A copy of a document that a JSON patch changes step by step. Every step returns
 * what is wrong with it, or undefined, and costs no more than what it names; what
 * costs more is counted.
 */
export class PatchedDocument {
  #value: Json
  #copiedBytes = 0
  #shifted = 0

  constructor(document: Json) {
    this.#value = structuredClone(document)
  }

  get value(): Json {
    return this.#value
  }

  /** Bytes of JSON that `copy` added. */
  get copiedBytes(): number {
    return this.#copiedBytes
  }

  /** Items of lists that moved because one before them was added or removed. */
  get shifted(): number {
    return this.#shifted
  }

  at(path: string): Json | undefined {
    return valueAtPointer(this.#value, path)
  }

  add(path: string, value: Json): string | undefined {
    if (path === '') return this.#become(value)
    const location = locationOf(this.#value, path)
    if (location === undefined) return noSuchPath(path)
    const { parent, key } = location
    if (!Array.isArray(parent)) return setMember(location, value) ? undefined : noSuchPath(path)
    const index = key === '-' ? parent.length : indexOf(key)
    if (index === undefined || index > parent.length) return noSuchPath(path)
    this.#shifted += parent.length - index
    parent.splice(index, 0, value)
    return undefined
  }

  replace(path: string, value: Json): string | undefined {
    if (path === '') return this.#become(value)
    if (this.at(path) === undefined) return noSuchPath(path)
    const { parent, key } = locationOf(this.#value, path)!
    if (Array.isArray(parent)) parent[Number(key)] = value
    else setMember({ parent, key }, value)
    return undefined
  }

  remove(path: string): string | undefined {
    return this.#take(path) === undefined ? noSuchPath(path) : undefined
  }

  move(from: string, path: string): string | undefined {
    if (path.startsWith(`${from}/`)) return `${quote(from)} cannot be moved into itself`
    const value = from === path ? this.at(from) : this.#take(from)
    if (value === undefined) return noSuchFrom(from)
    return from === path ? undefined : this.add(path, value)
  }

  copy(from: string, path: string): string | undefined {
    const value = this.at(from)
    if (value === undefined) return noSuchFrom(from)
    const text = JSON.stringify(value)
    this.#copiedBytes += text.length
    return this.add(path, JSON.parse(text) as Json)
  }

  #become(value: Json): undefined {
    this.#value = value
    return undefined
  }

  /** Takes a value out; undefined when there is none, or it is the whole document. */
  #take(path: string): Json | undefined {
    const location = locationOf(this.#value, path)
    if (location === undefined) return undefined
    const { parent, key } = location
    const value = valueAtPointer(this.#value, path)
    if (value === undefined) return undefined
    if (Array.isArray(parent)) {
      this.#shifted += parent.length - Number(key)
      parent.splice(Number(key), 1)
    } else if (isJsonObject(parent)) delete parent[key]
    return value
  }
}

function setMember({ parent, key }: Location, value: Json): boolean {
  if (!isJsonObject(parent)) return false
  setOwn(parent, key, value)
  return true
}

function noSuchPath(path: string): string {
  return `no such path: ${quote(path)}`
}

function noSuchFrom(from: string): string {
  return `no such path in from: ${quote(from)}`
}
