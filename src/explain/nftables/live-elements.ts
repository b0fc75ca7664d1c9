import { endianness } from 'node:os'
import type { Verdict } from '../../kernel/nftables/expression.ts'
import type { Element } from '../../kernel/nftables/objects.ts'
import type { Family } from '../../lib/ip.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { LookUpElement } from './look-up.ts'
import { isList, isObject, type Json, type JsonObject, textOf } from './model/json.ts'
import type { SetElements } from './model/ruleset.ts'
import { addressOf, type Part } from './model/value.ts'

/** Fields by the names that nft prints. */
const FIELDS: ReadonlyMap<string, Field> = new Map([
  ['ipv4_addr', { bytes: 4, isAddress: true }],
  ['ipv6_addr', { bytes: 16, isAddress: true }],
  ['inet_proto', { bytes: 1 }],
  ['inet_service', { bytes: 2 }],
  ['mark', { bytes: 4, isHostOrder: true }],
  // Numbers from `numgen` have no type of their own; integers of other programs may have any size and byte order.
  ['integer', { bytes: 4, isHostOrder: true }],
])

const MS_PER_SECOND = 1_000

/** In this table elements are looked up one by one: integers in its keys are numbers from `numgen`. */
const OWN_TABLE = 'node-proxy'

const FAMILIES: Readonly<Record<string, Family>> = { ip: 4, ip6: 6 }

/** The elements of sets that were listed without elements; they are read when a packet needs them. */
export class LiveElements {
  readonly #run: RunCommand
  readonly #lookUp: LookUpElement
  readonly #sets: UnreadElements[] = []

  constructor(run: RunCommand, lookUp: LookUpElement) {
    this.#run = run
    this.#lookUp = lookUp
  }

  of(listed: JsonObject, kind: 'set' | 'map'): SetElements {
    const elements = new UnreadElements({
      ...(this.#byKey(listed) ?? { keyOf: () => undefined, lookUp: async () => [] }),
      all: () => this.#all(listed, kind),
    })
    this.#sets.push(elements)
    return elements
  }

  /** Reads the elements that walks needed; returns whether there were any. */
  async read(): Promise<boolean> {
    let wasMissing = false
    for (const set of this.#sets) if (await set.read()) wasMissing = true
    return wasMissing
  }

  #byKey(listed: JsonObject): Omit<ElementSource, 'all'> | undefined {
    const [table, name] = [textOf(listed['table']), textOf(listed['name'])]
    const family = FAMILIES[textOf(listed['family'])]
    if (family === undefined || table !== OWN_TABLE || flagsOf(listed).has('interval'))
      return undefined
    const keys = registersOf(typesOf(listed['type']))
    const target = listed['map']
    const values = target === undefined || target === 'verdict' ? undefined : typesOf(target)
    const read = values && registersOf(values)
    if (keys === undefined || (values !== undefined && read === undefined)) return undefined
    return {
      keyOf: (parts) => keys.write(parts),
      lookUp: async (key) => {
        const found = await this.#lookUp({ family, name: table }, name, key)
        return found === undefined ? [] : [elementJson(found, keys, read)]
      },
    }
  }

  async #all(listed: JsonObject, kind: 'set' | 'map'): Promise<readonly Json[] | undefined> {
    const where = ['family', 'table', 'name'].map((field) => textOf(listed[field]))
    const output = await this.#run('nft', ['-j', 'list', kind, ...where])
    if (output.status !== 0) return undefined
    const { nftables } = JSON.parse(output.stdout) as { readonly nftables: readonly JsonObject[] }
    const set = nftables.map((object) => object[kind]).find(isObject)
    const elements = set?.['elem']
    return isList(elements) ? elements : []
  }
}

function typesOf(types: Json | undefined): readonly string[] {
  return (isList(types) ? types : [types ?? null]).map(textOf)
}

function flagsOf({ flags }: JsonObject): ReadonlySet<string> {
  return new Set((isList(flags) ? flags : [flags ?? null]).map(textOf))
}

/** An element as nft prints it; a map's element is a pair. If `values` is absent, the data is a verdict. */
function elementJson(element: Element, keys: Registers, values?: Registers): Json {
  const { data } = element
  const key = withTimes(keys.read(element.key), element)
  if (data === undefined) return key
  if (!Buffer.isBuffer(data)) return [key, verdictJson(data)]
  return [key, values?.read(data) ?? null]
}

function withTimes(val: Json, { timeout, expires }: Element): Json {
  if (timeout === undefined && expires === undefined) return val
  const times = {
    ...(timeout === undefined ? {} : { timeout: seconds(timeout) }),
    ...(expires === undefined ? {} : { expires: seconds(expires) }),
  }
  return { elem: { val, ...times } }
}

function seconds(ms: number): number {
  return Math.floor(ms / MS_PER_SECOND)
}

function verdictJson(verdict: Verdict): Json {
  const { kind } = verdict
  return kind === 'jump' || kind === 'goto'
    ? { [kind]: { target: verdict.chain } }
    : { [kind]: null }
}

/** How elements of one set are read. */
interface ElementSource {
  /** The key for looking up a single element; undefined if all elements have to be read. */
  keyOf(parts: readonly Part[]): Buffer | undefined
  lookUp(key: Buffer): Promise<readonly Json[]>
  /** Undefined if the set cannot be listed; it may have been deleted meanwhile. */
  all(): Promise<readonly Json[] | undefined>
}

/** Elements that are read when a packet needs them. */
class UnreadElements implements SetElements {
  readonly #source: ElementSource
  readonly #elements = new Map<string, readonly Json[]>()
  readonly #missing = new Map<string, Buffer>()
  #isMissing = false
  #all: readonly Json[] | undefined
  #isGone = false

  constructor(source: ElementSource) {
    this.#source = source
  }

  withKey(parts: readonly Part[]): readonly Json[] | undefined {
    if (this.#all !== undefined || this.#isGone) return this.#all
    const key = this.#source.keyOf(parts)
    if (key === undefined) {
      this.#isMissing = true
      return undefined
    }
    const text = key.toString('hex')
    const known = this.#elements.get(text)
    if (known === undefined) this.#missing.set(text, key)
    return known
  }

  /** Reads what was needed; returns whether there was anything. */
  async read(): Promise<boolean> {
    const missing = [...this.#missing]
    const isMissing = this.#isMissing
    this.#missing.clear()
    this.#isMissing = false
    if (isMissing) {
      this.#all = await this.#source.all()
      this.#isGone = this.#all === undefined
    } else
      for (const [text, key] of missing) this.#elements.set(text, await this.#source.lookUp(key))
    return isMissing || missing.length > 0
  }
}

/** A field as the kernel stores it, padded to 4 bytes. */
interface Field {
  readonly bytes: number
  readonly isAddress?: true
  readonly isHostOrder?: true
}

/** The keys or data of a set as the kernel stores them. */
interface Registers {
  /** Undefined if a value is not a number of its field's size. */
  write(parts: readonly Part[]): Buffer | undefined
  /** The values as nft prints them, except that protocols are numbers. */
  read(registers: Buffer): Json
}

/** The registers for types with nft's names; undefined if one is unknown. */
export function registersOf(types: readonly string[]): Registers | undefined {
  const fields: Field[] = []
  for (const type of types) {
    const field = FIELDS.get(type)
    if (field === undefined) return undefined
    fields.push(field)
  }
  return {
    write(parts) {
      if (parts.length !== fields.length) return undefined
      const written = fields.map((field, index) => writeField(field, parts[index]!))
      return written.every((one) => one !== undefined) ? Buffer.concat(written) : undefined
    },
    read(registers) {
      let at = 0
      const values = fields.map((field) => {
        const value = readField(field, registers.subarray(at, at + field.bytes))
        at += padded(field)
        return value
      })
      return values.length === 1 ? values[0]! : { concat: values }
    },
  }
}

function writeField(field: Field, { value }: Part): Buffer | undefined {
  const { bytes } = field
  if (typeof value !== 'bigint' || value < 0n || value >> BigInt(bytes * 8) !== 0n) return undefined
  const written = Buffer.alloc(padded(field))
  inNetworkOrder(field, Buffer.from(value.toString(16).padStart(bytes * 2, '0'), 'hex')).copy(
    written,
  )
  return written
}

function readField(field: Field, value: Buffer): Json {
  const number = BigInt(`0x${inNetworkOrder(field, value).toString('hex')}`)
  if (field.isAddress !== true) return Number(number)
  return addressOf(number, field.bytes === 4 ? 32 : 128) ?? null
}

/** Converts between the field's byte order and network order; the conversion is its own inverse. */
function inNetworkOrder({ isHostOrder }: Field, value: Buffer): Buffer {
  return isHostOrder === true && endianness() === 'LE' ? Buffer.from(value).reverse() : value
}

function padded({ bytes }: Field): number {
  return (bytes + 3) & ~3
}
