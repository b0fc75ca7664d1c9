import { findAttribute, findText } from '../netlink/attribute.ts'
import { familyOfNumber } from '../netlink/message.ts'
import { NFGENMSG, NFT_MSG } from '../netlink/nfnetlink.ts'
import { CHAIN, ELEMENTS, RULE, SET, TABLE } from './attributes.ts'
import { readElements } from './element-codec.ts'
import { NLMSG_HEADER, type TouchCollector } from './generation-collector.ts'
import type { Element, Table } from './objects.ts'

/** What a transaction changed: a table, a chain or its rules, a set, an element of a set. */
export type TouchedObject =
  | { readonly table: Table; readonly kind: 'table' }
  | { readonly table: Table; readonly kind: 'chain'; readonly name: string }
  | { readonly table: Table; readonly kind: 'set'; readonly name: string }
  | {
      readonly table: Table
      readonly kind: 'element'
      readonly set: string
      readonly element: Element
    }

/** If a transaction names more objects than this, what it changed counts as unknown. */
const LIMIT = 1000

/** Which messages are read. */
export interface ObjectCollectorOptions {
  /** The name of the table, in both families. */
  readonly table: string
  /** The port of the socket whose own transactions are ignored. */
  readonly exceptPort: number
  readonly limit?: number
}

/** Collects the objects of one table that messages of other sockets name; `limit` bounds their number. */
export class ObjectCollector implements TouchCollector<TouchedObject> {
  readonly #options: ObjectCollectorOptions
  readonly #limit: number
  #touched: TouchedObject[] = []

  constructor(options: ObjectCollectorOptions) {
    this.#options = options
    this.#limit = options.limit ?? LIMIT
  }

  add(message: Buffer): void {
    if (this.#touched.length > this.#limit) return
    if (message.readUInt32LE(12) === this.#options.exceptPort) return
    const family = familyOfNumber(message[NLMSG_HEADER])
    const attributes = message.subarray(NLMSG_HEADER + NFGENMSG)
    // The first attribute of each of these messages is the name of the table.
    const name = findText(attributes, TABLE.name)
    if (family === undefined || name !== this.#options.table) return
    for (const one of touchedBy(message[4], attributes, { family, name })) this.#touched.push(one)
  }

  take(): readonly TouchedObject[] | 'unknown' {
    const touched = this.#touched
    this.#touched = []
    return touched.length > this.#limit ? 'unknown' : touched
  }
}

const { newTable, deleteTable, newChain, deleteChain, newRule, deleteRule } = NFT_MSG
const { newSet, deleteSet, newSetElement, deleteSetElement } = NFT_MSG

function touchedBy(
  type: number | undefined,
  attributes: Buffer,
  table: Table,
): readonly TouchedObject[] {
  const isOne = (...types: readonly number[]) => type !== undefined && types.includes(type)
  if (isOne(newTable, deleteTable)) return [{ table, kind: 'table' }]
  if (isOne(newSetElement, deleteSetElement)) return touchedElements(attributes, table)
  const named = (attribute: number) => findText(attributes, attribute) ?? ''
  if (isOne(newChain, deleteChain)) return [{ table, kind: 'chain', name: named(CHAIN.name) }]
  if (isOne(newRule, deleteRule)) return [{ table, kind: 'chain', name: named(RULE.chain) }]
  return isOne(newSet, deleteSet) ? [{ table, kind: 'set', name: named(SET.name) }] : []
}

function touchedElements(attributes: Buffer, table: Table): readonly TouchedObject[] {
  const set = findText(attributes, ELEMENTS.set) ?? ''
  const touched: TouchedObject[] = []
  readElements(findAttribute(attributes, ELEMENTS.list) ?? Buffer.alloc(0), ({ element }) =>
    touched.push({ table, kind: 'element', set, element }),
  )
  return touched
}
