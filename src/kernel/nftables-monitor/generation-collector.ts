import { familyOfNumber } from '../netlink/address-family.ts'
import { attributeText, findAttribute } from '../netlink/attribute.ts'
import { align } from '../netlink/message.ts'
import { NFT_MSG, NFTA } from '../netlink/nf-tables.ts'
import { NFGENMSG, NFNL_SUBSYS } from '../netlink/nfnetlink.ts'
import type { TouchedChain } from './rule-monitor.ts'

const NLMSG_HEADER = 16

/** One committed nf_tables transaction. */
export interface Generation {
  readonly id: number
  readonly pid: number
  readonly process: string
  /** Port of the socket that sent the transaction, usually its process id in our PID namespace. */
  readonly port: number
  readonly seq: number
  readonly touched: readonly TouchedChain[] | 'unknown'
}

/**
 * Reads nf_tables notifications: those about tables, chains and rules, up to
 * the NEWGEN that ends each transaction. Work is bounded: messages about the
 * chain just seen cost one comparison, and beyond `limit` chains they are
 * skipped unread.
 */
export class GenerationCollector {
  readonly #limit: number
  readonly #touched = new Map<string, TouchedChain>()
  #last = Buffer.alloc(0)

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Discards the messages of a transaction whose end was lost. */
  reset(): void {
    this.#touched.clear()
    this.#last = Buffer.alloc(0)
  }

  read(datagram: Buffer, onGeneration: (generation: Generation) => void): void {
    let at = 0
    while (at + NLMSG_HEADER + NFGENMSG <= datagram.length) {
      const length = datagram.readUInt32LE(at)
      if (length < NLMSG_HEADER + NFGENMSG || at + length > datagram.length) return
      if (datagram[at + 5] === NFNL_SUBSYS.nftables)
        this.#message(datagram.subarray(at, at + length), onGeneration)
      at += align(length)
    }
  }

  #message(message: Buffer, onGeneration: (generation: Generation) => void): void {
    const type = message[4]
    if (type === NFT_MSG.newGeneration) {
      onGeneration(decodeGeneration(message, this.#take()))
    } else if (this.#touched.size <= this.#limit) {
      const chain = chainAttribute(type)
      if (chain !== undefined) this.#collect(message, chain)
    }
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

  #take(): readonly TouchedChain[] | 'unknown' {
    const touched = this.#touched.size > this.#limit ? 'unknown' : [...this.#touched.values()]
    this.reset()
    return touched
  }
}

/** Type of the attribute that names the chain; undefined for messages of no interest. */
function chainAttribute(type: number | undefined): number | undefined {
  if (type === NFT_MSG.newRule || type === NFT_MSG.deleteRule) return NFTA.ruleChain
  if (type === NFT_MSG.newChain || type === NFT_MSG.deleteChain) return NFTA.chainName
  return type === NFT_MSG.newTable || type === NFT_MSG.deleteTable ? 0 : undefined
}

function decodeGeneration(message: Buffer, touched: Generation['touched']): Generation {
  const attributes = message.subarray(NLMSG_HEADER + NFGENMSG)
  const number = (type: number) => {
    const value = findAttribute(attributes, type)
    return value !== undefined && value.length === 4 ? value.readUInt32BE(0) : 0
  }
  const process = attributeText(
    findAttribute(attributes, NFTA.generationProcess) ?? Buffer.alloc(0),
  )
  return {
    id: number(NFTA.generationId),
    pid: number(NFTA.generationPid),
    process: process.replace(/[^\x20-\x7e]/g, '?'),
    port: message.readUInt32LE(12),
    seq: message.readUInt32LE(8),
    touched,
  }
}
