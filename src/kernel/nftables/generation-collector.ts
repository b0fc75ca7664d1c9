import { readlinkSync } from 'node:fs'
import { attributeText, findAttribute, findText } from '../netlink/attribute.ts'
import { align, familyOfNumber } from '../netlink/message.ts'
import { NFGENMSG, NFNL_SUBSYS, NFT_MSG, NFTA } from '../netlink/nfnetlink.ts'
import type { TouchedChain } from './rule-monitor.ts'

/** The size of `struct nlmsghdr` in bytes. */
export const NLMSG_HEADER = 16

/** Collects what a transaction changed, from its messages. */
export interface TouchCollector<Touched> {
  /** A whole nf_tables message, with its netlink header. */
  add(message: Buffer): void
  /** The changes since the last call; `unknown` if there were more than it collects. */
  take(): readonly Touched[] | 'unknown'
}

/** One committed nf_tables transaction. */
export interface Generation<Touched> {
  /** The number of the generation that it made. */
  readonly id: number
  /** The process that made it: process id in the initial PID namespace, and name. */
  readonly pid: number
  readonly process: string
  /** Port of the socket that sent the transaction, usually its process id in our PID namespace. */
  readonly port: number
  /** The sequence number of the message that it answers, if it is an answer. */
  readonly seq: number
  readonly touched: readonly Touched[] | 'unknown'
}

/** Reads nf_tables notifications. A transaction is complete with its last message, NFT_MSG_NEWGEN. */
export class GenerationCollector<Touched> {
  readonly #touched: TouchCollector<Touched>
  /** Whether the end of a transaction may be lost: what comes next may still belong to it. */
  #isTorn = false

  constructor(touched: TouchCollector<Touched>) {
    this.#touched = touched
  }

  /** Discards the messages of a transaction whose end was lost. */
  reset(): void {
    this.#touched.take()
    this.#isTorn = true
  }

  /**
   * Reads the messages of one datagram; calls back for each transaction that is complete with it, and for each answer to
   * a request of the socket with the port `ownPort`.
   */
  read(
    datagram: Buffer,
    ownPort: number | undefined,
    onGeneration: (generation: Generation<Touched>) => void,
  ): void {
    let at = 0
    while (at + NLMSG_HEADER + NFGENMSG <= datagram.length) {
      const length = datagram.readUInt32LE(at)
      if (length < NLMSG_HEADER + NFGENMSG || at + length > datagram.length) return
      const message = datagram.subarray(at, at + length)
      at += align(length)
      if (message[5] !== NFNL_SUBSYS.nftables) continue
      if (message[4] !== NFT_MSG.newGeneration) {
        this.#touched.add(message)
        continue
      }
      const generation = decodeGeneration(message)
      // An answer may come between the messages of a transaction, and ends none but one whose end is lost.
      const isEnd = generation.port !== ownPort
      const touched = isEnd || this.#isTorn ? this.#touched.take() : []
      this.#isTorn = false
      onGeneration({ ...generation, touched: isEnd ? touched : [] })
    }
  }
}

function decodeGeneration(message: Buffer): Omit<Generation<never>, 'touched'> {
  const attributes = message.subarray(NLMSG_HEADER + NFGENMSG)
  const number = (type: number) => {
    const value = findAttribute(attributes, type)
    return value !== undefined && value.length === 4 ? value.readUInt32BE(0) : 0
  }
  const process = findText(attributes, NFTA.generationProcess) ?? ''
  return {
    id: number(NFTA.generationId),
    pid: number(NFTA.generationPid),
    process: process.replace(/[^\x20-\x7e]/g, '?'),
    port: message.readUInt32LE(12),
    seq: message.readUInt32LE(8),
  }
}

/** The initial PID namespace: its inode is a constant of the kernel (PROC_PID_INIT_INO). */
const INITIAL_PID_NAMESPACE = 'pid:[4026531836]'

/**
 * By what a notification identifies programs of this daemon. The kernel reports the author of a change by its process
 * id in the initial PID namespace. In a container the process ids of this daemon are different numbers. There the port
 * of the author's socket is used, which is usually the author's process id in its own PID namespace.
 */
export function authorship(): 'pid' | 'port' {
  try {
    return readlinkSync('/proc/self/ns/pid') === INITIAL_PID_NAMESPACE ? 'pid' : 'port'
  } catch {
    return 'port'
  }
}

/** If a transaction names more chains than this, its changes count as unknown. */
const MAX_CHAINS = 1000

/**
 * Collects the chains that messages about tables, chains and rules name. Its work is bounded: a message about the same
 * chain as the message before costs one comparison, and after more than `limit` chains no message is read.
 */
export class ChainCollector implements TouchCollector<TouchedChain> {
  readonly #limit: number
  readonly #touched = new Map<string, TouchedChain>()
  /** The beginning of the last message, from the netlink header to the end of the name of its chain. */
  #last = Buffer.alloc(0)

  constructor(limit = MAX_CHAINS) {
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

  /** `chainType` is the attribute that names the chain; 0 for a message about the table itself. */
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

  /** Whether the message is about the same chain as the last one. The kernel names table and chain first. */
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

/** The type of the attribute that names the chain; 0 for messages about a table; undefined for all other messages. */
function chainAttribute(type: number | undefined): number | undefined {
  if (type === NFT_MSG.newRule || type === NFT_MSG.deleteRule) return NFTA.ruleChain
  if (type === NFT_MSG.newChain || type === NFT_MSG.deleteChain) return NFTA.chainName
  return type === NFT_MSG.newTable || type === NFT_MSG.deleteTable ? 0 : undefined
}
