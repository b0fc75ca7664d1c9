import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { findAttribute, findText } from '../netlink/attribute.ts'
import { AttributeWriter } from '../netlink/attribute-writer.ts'
import type { KernelError } from '../netlink/kernel-error.ts'
import { type NetlinkMessage, NLM_F_ACK, type OutgoingMessage } from '../netlink/message.ts'
import { NFNL_SUBSYS, NFTA } from '../netlink/nfnetlink.ts'
import { rawTransport } from '../netlink/raw-transport.ts'
import { NetlinkSession, type Visit } from '../netlink/session.ts'
import { NETLINK_NETFILTER, type OpenTransport } from '../netlink/transport.ts'
import { CHAIN, ELEMENTS, RULE, SET, TABLE } from './attributes.ts'
import {
  attributesOf,
  elementMessages,
  encodeCommand,
  formOf,
  message,
  type Numbering,
  readChain,
  readPackets,
  readRule,
  writer,
} from './commands.ts'
import { type ReadElement, readElements } from './element-codec.ts'
import type { ChainContent, Nftables, TableContent, TransactionError } from './nftables.ts'
import type { Command, Element, Rule, SetSpec, Table } from './objects.ts'
import { readSet } from './set-codec.ts'

const { ENOENT, EINVAL } = constants.errno

/** Errors which mean that the table does not exist, or that the kernel has no nf_tables to answer such messages. */
const ABSENT: ReadonlySet<number> = new Set([ENOENT, EINVAL])

/** nf_tables over netlink (linux/netfilter/nf_tables.h). The session sends one request at a time. */
export class NetlinkNftables implements Nftables {
  readonly #session: NetlinkSession
  /** The specifications of sets that were created or read here: they determine how elements are written. */
  readonly #specs = new Map<string, SetSpec>()
  #commits = 0

  constructor(open: OpenTransport, clock: Clock) {
    this.#session = new NetlinkSession(open, clock)
  }

  get commits(): number {
    return this.#commits
  }

  /** The netlink port of the socket. Notifications of its transactions contain it. */
  get port(): number {
    return this.#session.port
  }

  async commit(
    commands: readonly Command[],
    generation?: number,
  ): Promise<TransactionError | undefined> {
    await this.#learnSets(commands)
    const { messages, commandOf } = this.#encode(commands)
    if (messages.length === 0) return undefined
    const [first] = await this.#send(batchOf(messages, generation), commands)
    if (first === undefined) {
      this.#commits++
      return undefined
    }
    const [index, error] = first
    // Message 0 begins the transaction; its error means that the transaction failed as a whole. The commands follow it.
    return transactionError(error, index === 0 ? undefined : commandOf[index - 1])
  }

  async generation(): Promise<number> {
    let generation = 0
    const error = await this.#session.request(message('getGeneration', writer(4)), (reply) => {
      generation = findAttribute(attributesOf(reply), NFTA.generationId)?.readUInt32BE(0) ?? 0
    })
    if (error) throw unread('the generation of nf_tables', error)
    return generation
  }

  async read(table: Table): Promise<TableContent | undefined> {
    const request = message('getTable', writer(table.family).text(TABLE.name, table.name))
    const error = await this.#session.request(request, () => undefined)
    if (error && ABSENT.has(error.errno)) return undefined
    if (error) throw unread(`table ${nameOf(table)}`, error)
    const sets = await this.#readSets(table)
    return { chains: await this.#readChains(table), sets }
  }

  async elements(table: Table, set: string, visit: (element: Element) => void): Promise<void> {
    const spec = await this.#specOf(table, set)
    if (spec === undefined) return
    const { endsRanges } = formOf(spec, undefined)
    // The elements that are halves of ranges: see `joinRanges`.
    const halves: { element: Element; endsRange: boolean }[] = []
    const to = writer(table.family).text(ELEMENTS.table, table.name).text(ELEMENTS.set, set)
    const read = (reply: NetlinkMessage) => {
      const list = findAttribute(attributesOf(reply), ELEMENTS.list) ?? Buffer.alloc(0)
      readElements(list, (one) => (endsRanges ? halves.push(one) : visit(one.element)))
    }
    // The kernel marks a dump as interrupted after any change of any table. If it were repeated then, the dump of a
    // large set might never end.
    const errno = await this.#session.dump(message('getSetElement', to), () => read, {
      evenIfChanged: true,
    })
    if (errno !== 0 && errno !== ENOENT) {
      throw unread(`set ${set} of table ${nameOf(table)}`, { errno, text: undefined })
    }
    if (endsRanges) for (const element of joinRanges(halves)) visit(element)
  }

  async lookup(table: Table, set: string, keys: readonly Buffer[]): Promise<readonly Element[]> {
    const spec = await this.#specOf(table, set)
    if (spec === undefined || keys.length === 0) return []
    // By key, because a repeated request visits them again.
    const found = new Map<string, Element>()
    const wanted = keys.map((key) => ({ key }))
    for (const request of elementMessages(
      'getSetElement',
      { table, set },
      wanted,
      formOf(spec, undefined),
    )) {
      const error = await this.#session.request(request, (reply) => {
        const list = findAttribute(attributesOf(reply), ELEMENTS.list) ?? Buffer.alloc(0)
        readElements(list, ({ element }) => found.set(element.key.toString('latin1'), element))
      })
      if (error?.errno === ENOENT) break
      if (error) throw unread(`set ${set} of table ${nameOf(table)}`, error)
    }
    return [...found.values()]
  }

  async counters(of: Table): Promise<ReadonlyMap<string, bigint>> {
    const counted = new Map<string, bigint>()
    await this.#dump('getRule', of, () => {
      counted.clear()
      return (reply) => {
        const attributes = attributesOf(reply)
        const [table, chain] = [RULE.table, RULE.chain].map((type) => findText(attributes, type))
        const packets = table === of.name ? readPackets(attributes) : undefined
        if (chain === undefined || packets === undefined) return
        counted.set(chain, (counted.get(chain) ?? 0n) + packets)
      }
    })
    return counted
  }

  close(): void {
    this.#session.close()
  }

  /**
   * Returns the errors with the indexes of their messages, in order. If the transaction had no effect, the
   * specifications of the sets that it creates are forgotten.
   */
  async #send(
    messages: readonly OutgoingMessage[],
    commands: readonly Command[],
  ): Promise<readonly (readonly [number, KernelError])[]> {
    let isDone = false
    try {
      const errors = await this.#session.transaction(messages)
      isDone = errors.size === 0
      return [...errors].toSorted(([a], [b]) => a - b)
    } finally {
      if (!isDone) this.#forgetSets(commands)
    }
  }

  #forgetSets(commands: readonly Command[]): void {
    for (const command of commands) {
      if (command.do === 'addSet') this.#specs.delete(keyOf(command.table, command.set))
    }
  }

  /** Encodes the commands, and updates the known specifications of sets as if the commands had taken effect. */
  #encode(commands: readonly Command[]): {
    readonly messages: readonly OutgoingMessage[]
    /** For each message the index of its command. */
    readonly commandOf: readonly number[]
  } {
    const messages: OutgoingMessage[] = []
    const commandOf: number[] = []
    const numbering: Numbering = { next: 1 }
    for (const [index, command] of commands.entries()) {
      if (command.do === 'addSet') this.#specs.set(keyOf(command.table, command.set), command.spec)
      if (command.do === 'deleteSet') this.#specs.delete(keyOf(command.table, command.set))
      if (command.do === 'deleteTable') this.#forgetTable(command.table)
      const specOf = (table: Table, set: string) => this.#specs.get(keyOf(table, set))
      for (const one of encodeCommand(command, numbering, specOf)) {
        messages.push(one)
        commandOf.push(index)
      }
    }
    return { messages, commandOf }
  }

  #forgetTable(table: Table): void {
    const prefix = keyOf(table, '')
    for (const key of this.#specs.keys()) if (key.startsWith(prefix)) this.#specs.delete(key)
  }

  /**
   * Reads the specifications of the sets whose elements change, except those that are known or created by the
   * commands.
   */
  async #learnSets(commands: readonly Command[]): Promise<void> {
    const made = new Set<string>()
    for (const command of commands) {
      if (command.do === 'addSet') made.add(keyOf(command.table, command.set))
      if (command.do !== 'addElements' && command.do !== 'deleteElements') continue
      if (!made.has(keyOf(command.table, command.set))) {
        await this.#specOf(command.table, command.set)
      }
    }
  }

  /** The specification of a set, read if it is not known. Undefined if the set does not exist. */
  async #specOf(table: Table, set: string): Promise<SetSpec | undefined> {
    const known = this.#specs.get(keyOf(table, set))
    if (known) return known
    const to = writer(table.family).text(SET.table, table.name).text(SET.name, set)
    const error = await this.#session.request(message('getSet', to), (reply) => {
      const read = readSet(attributesOf(reply))
      if (read) this.#specs.set(keyOf(table, read.name), read.spec)
    })
    if (error && error.errno !== ENOENT) throw unread(`set ${set} of ${nameOf(table)}`, error)
    return this.#specs.get(keyOf(table, set))
  }

  async #readSets(table: Table): Promise<ReadonlyMap<string, SetSpec>> {
    const sets = new Map<string, SetSpec>()
    const request = message('getSet', writer(table.family).text(SET.table, table.name))
    const errno = await this.#session.dump(request, () => {
      sets.clear()
      return (reply) => {
        const read = readSet(attributesOf(reply))
        if (read) sets.set(read.name, read.spec)
      }
    })
    if (errno !== 0 && errno !== ENOENT)
      throw unread(`sets of ${nameOf(table)}`, { errno, text: undefined })
    for (const [name, spec] of sets) this.#specs.set(keyOf(table, name), spec)
    return sets
  }

  /** The chains with their rules. */
  async #readChains(of: Table): Promise<ReadonlyMap<string, ChainContent>> {
    const chains = new Map<string, { spec: ChainContent['spec']; rules: Rule[] }>()
    await this.#dump('getChain', of, () => {
      chains.clear()
      return (reply) => {
        const read = readChain(attributesOf(reply))
        if (read?.table === of.name) chains.set(read.name, { spec: read.spec, rules: [] })
      }
    })
    await this.#dump('getRule', of, () => {
      for (const chain of chains.values()) chain.rules.length = 0
      return (reply) => {
        const attributes = attributesOf(reply)
        const read = readRule(attributes, of.family)
        const table = findText(attributes, RULE.table)
        if (read === undefined || table !== of.name) return
        chains.get(read.chain)?.rules.push(read.rule)
      }
    })
    return chains
  }

  async #dump(type: 'getChain' | 'getRule', table: Table, begin: () => Visit): Promise<void> {
    const [attribute, what] = type === 'getChain' ? [CHAIN.table, 'chains'] : [RULE.table, 'rules']
    const request = message(type, writer(table.family).text(attribute, table.name))
    const errno = await this.#session.dump(request, begin)
    if (errno !== 0 && errno !== ENOENT)
      throw unread(`${what} of ${nameOf(table)}`, { errno, text: undefined })
  }
}

/** A key of `#specs`; with an empty name of the set, the beginning of all keys of the table. */
function keyOf({ family, name }: Table, set: string): string {
  return `${family}/${name}/${set}`
}

/** The table as nft writes it. */
function nameOf({ family, name }: Table): string {
  return `${family === 4 ? 'ip' : 'ip6'} ${name}`
}

/** Buffer sizes in bytes. Transactions are large, and so are the datagrams of dumps. */
const SIZES = { send: 64 * 1024 * 1024, datagram: 32 * 1024 }

/** Opens a socket to nf_tables in the network namespace of this process. */
export function openNftables(clock: Clock): NetlinkNftables {
  return new NetlinkNftables(rawTransport(NETLINK_NETFILTER, SIZES), clock)
}

/**
 * The error of a transaction. `command` is the index of the refused command; undefined if the transaction was refused
 * as a whole.
 */
export function transactionError(
  error: KernelError,
  command: number | undefined,
): TransactionError {
  return { command, errno: error.errno, message: describe(error) }
}

/**
 * The error for a failed read. It is thrown, because without the read nothing is known about the objects in the
 * kernel.
 */
function unread(what: string, error: KernelError): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_NETLINK', `${what} cannot be read: ${describe(error)}`)
}

/** The meaning of an errno of a refused command, if the kernel sends no text. */
const MEANINGS: Readonly<Record<number, string>> = {
  [constants.errno.EPERM]:
    'not permitted: CAP_NET_ADMIN is missing, or the table belongs to another program',
  [constants.errno.ENOENT]:
    'something that it refers to does not exist, or a kernel module is missing',
  [constants.errno.EEXIST]: 'it exists already with different content',
  [constants.errno.EBUSY]: 'it is in use',
  [constants.errno.ENFILE]: 'the set is full',
  [constants.errno.EOPNOTSUPP]: 'the kernel does not support it',
}

/** The name of the errno, with the kernel's text if there is one, else with its meaning. */
function describe({ errno, text }: KernelError): string {
  const name = getSystemErrorName(-errno)
  const words = (text ?? MEANINGS[errno] ?? '').replaceAll(/[^\x20-\x7e]/g, '?')
  return words === '' ? name : `${name}: ${words}`
}

/**
 * Joins the ranges of an interval set whose key is a single field. The kernel stores each range as two elements: the
 * first number, and the number after the last one (with the flag NFT_SET_ELEM_INTERVAL_END). A range without an end
 * extends to the largest number. An end without a beginning, such as the one at 0 that nft writes, is left out.
 */
export function joinRanges(halves: readonly ReadElement[]): readonly Element[] {
  const sorted = halves.toSorted(
    (a, b) => a.element.key.compare(b.element.key) || Number(b.endsRange) - Number(a.endsRange),
  )
  const ranges: Element[] = []
  for (const [index, { element, endsRange }] of sorted.entries()) {
    if (endsRange) continue
    const next = sorted[index + 1]
    const keyEnd = next ? previous(next.element.key) : Buffer.alloc(element.key.length, 0xff)
    ranges.push({ ...element, keyEnd })
  }
  return ranges
}

/** The number before this one, in network byte order. */
function previous(key: Buffer): Buffer {
  const bytes = Buffer.from(key)
  let at = bytes.length - 1
  while (at >= 0 && bytes[at] === 0) bytes[at--] = 0xff
  if (at >= 0) bytes[at] = (bytes[at] ?? 0) - 1
  return bytes
}

/** linux/netfilter/nfnetlink.h: messages around those of one transaction, and the attribute of the first one. */
const BATCH_BEGIN = 0x10
const BATCH_END = 0x11
const BATCH_GENERATION = 1

/**
 * The messages of one transaction, which the kernel refuses if `generation` is no longer the present one. Only the
 * last command requests an acknowledgement, which shows that the answer is complete: older kernels send no
 * acknowledgement for the message that ends the batch.
 */
export function batchOf(
  commands: readonly OutgoingMessage[],
  generation?: number,
): readonly OutgoingMessage[] {
  const begin = batchHeader()
  if (generation !== undefined) begin.be32(BATCH_GENERATION, generation)
  const last = commands.length - 1
  return [
    { type: BATCH_BEGIN, flags: 0, payload: begin.written() },
    ...commands.map((one, index) =>
      index === last ? { ...one, flags: one.flags | NLM_F_ACK } : one,
    ),
    { type: BATCH_END, flags: 0, payload: batchHeader().written() },
  ]
}

/**
 * The `struct nfgenmsg` of a message that begins or ends a batch: no family, version 0, and the subsystem in network
 * byte order.
 */
function batchHeader(): AttributeWriter {
  return new AttributeWriter().header(0, 0, 0, NFNL_SUBSYS.nftables)
}
