import { familyOfNumber } from '../netlink/address-family.ts'
import { attributeText, findAttribute } from '../netlink/attribute.ts'
import { NFT_MSG, NFTA } from '../netlink/nf-tables.ts'
import { NFGENMSG } from '../netlink/nfnetlink.ts'
import { NLMSG_HEADER, type TouchCollector } from './generation-collector.ts'
import type { TouchedChain } from './rule-monitor.ts'

/** If a transaction names more chains than this, what it changed counts as unknown. */
const LIMIT = 1000

/**
 * The chains that messages about tables, chains and rules name. Work is bounded: messages about the chain just
 * seen cost one comparison, and beyond `limit` chains they are skipped unread.
 */
export class ChainCollector implements TouchCollector<TouchedChain> {
  readonly #limit: number
  readonly #touched = new Map<string, TouchedChain>()
  #last = Buffer.alloc(0)

  constructor(limit = LIMIT) {
    this.#limit = limit
  }

  add(message: Buffer): void {
    if (this.#touched.size > this.#limit) return
    const chain = chainAttribute(message[4])
    if (chain !== undefined) this.#collect(message, chain)
  }

  take(): readonly TouchedChain[] | 'unknown' {
    const touched = this.#touched.size > this.#limit ? 'unknown' : [...this.#touched.values()]
    this.#touched.clear()
    this.#last = Buffer.alloc(0)
    return touched
  }

  /** `chainType` 0: a message about the table itself. */
  #collect(message: Buffer, chainType: number): void {
    if (this.#isLast(message)) return
    const attributes = message.subarray(NLMSG_HEADER + NFGENMSG)
    const family = familyOfNumber(message[NLMSG_HEADER])
    const table = findAttribute(attributes, NFTA.table)
    if (family === undefined || table === undefined) return
    const name = chainType === 0 ? undefined : findAttribute(attributes, chainType)
    const chain = name && attributeText(name)
    this.#remember(message, name)
    const touched = { family, table: attributeText(table), chain }
    this.#touched.set(`${family}/${touched.table}/${chain ?? ''}`, touched)
  }

  /** The kernel names table and chain first, so equal beginnings are equal chains. */
  #isLast(message: Buffer): boolean {
    const end = NLMSG_HEADER + this.#last.length
    if (this.#last.length === 0 || message.length < end) return false
    return message.compare(this.#last, 0, this.#last.length, NLMSG_HEADER, end) === 0
  }

  #remember(message: Buffer, chain: Buffer | undefined): void {
    const end = chain === undefined ? 0 : chain.byteOffset - message.byteOffset + chain.length
    this.#last = Buffer.from(message.subarray(NLMSG_HEADER, Math.max(end, NLMSG_HEADER)))
  }
}

/** Type of the attribute that names the chain; undefined for messages of no interest. */
function chainAttribute(type: number | undefined): number | undefined {
  if (type === NFT_MSG.newRule || type === NFT_MSG.deleteRule) return NFTA.ruleChain
  if (type === NFT_MSG.newChain || type === NFT_MSG.deleteChain) return NFTA.chainName
  return type === NFT_MSG.newTable || type === NFT_MSG.deleteTable ? 0 : undefined
}
