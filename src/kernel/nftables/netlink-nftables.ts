import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { attributeText, findAttribute } from '../netlink/attribute.ts'
import { AttributeWriter } from '../netlink/attribute-writer.ts'
import type { KernelError } from '../netlink/kernel-error.ts'
import { type NetlinkMessage, NLM_F_ACK, type OutgoingMessage } from '../netlink/message.ts'
import { NFNL_SUBSYS, NFTA } from '../netlink/nfnetlink.ts'
import { rawTransport } from '../netlink/raw-transport.ts'
import { NetlinkSession } from '../netlink/session.ts'
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
  readRule,
  writer,
} from './commands.ts'
import { type ReadElement, readElements } from './element-codec.ts'
import type { ChainContent, Nftables, TableContent, TransactionError } from './nftables.ts'
import type { Command, Element, Rule, SetSpec, Table } from './objects.ts'
import { readSet } from './set-codec.ts'

/** linux/netfilter/nfnetlink.h: messages around those of one transaction, and the attribute of the first one. */
const BATCH_BEGIN = 0x10
const BATCH_END = 0x11
const BATCH_GENERATION = 1

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

const { ENOENT, EINVAL } = constants.errno

/** The table does not exist; or the kernel has no nf_tables, so that nothing answers such messages. */
const ABSENT: ReadonlySet<number> = new Set([ENOENT, EINVAL])

/** nf_tables over netlink (linux/netfilter/nf_tables.h). One request at a time. */
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

  /** The port of the socket: notifications of its transactions contain it. */
  get port(): number {
    return this.#session.port
  }

  async commit(
    commands: readonly Command[],
    generation?: number,
  ): Promise<TransactionError | undefined> {
    if (commands.length === 0) return undefined
    await this.#learnSets(commands)
    const { messages, commandOf } = this.#encode(commands)
    const [first] = await this.#send(batchOf(messages, generation), commands)
    if (first === undefined) {
      this.#commits++
      return undefined
    }
    const [index, error] = first
    // The message before the commands begins the transaction; its error means that the transaction failed as a whole.
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
    const halves: { element: Element; endsRange: boolean }[] = []
    const to = writer(table.family).text(ELEMENTS.table, table.name).text(ELEMENTS.set, set)
    const read = (reply: NetlinkMessage) => {
      const list = findAttribute(attributesOf(reply), ELEMENTS.list) ?? Buffer.alloc(0)
      readElements(list, (one) => (endsRanges ? halves.push(one) : visit(one.element)))
    }
    // Any change of any table interrupts a list, so a long list might never end.
    const errno = await this.#session.dump(message('getSetElement', to), read, {
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
    const found: Element[] = []
    const wanted = keys.map((key) => ({ key }))
    for (const request of elementMessages(
      'getSetElement',
      { table, set },
      wanted,
      formOf(spec, undefined),
    )) {
      const error = await this.#session.request(request, (reply) => {
        const list = findAttribute(attributesOf(reply), ELEMENTS.list) ?? Buffer.alloc(0)
        readElements(list, ({ element }) => found.push(element))
      })
      if (error?.errno === ENOENT) break
      if (error) throw unread(`set ${set} of table ${nameOf(table)}`, error)
    }
    return found
  }

  close(): void {
    this.#session.close()
  }

  /** Returns the errors by message. If the transaction had no effect, what is known about its sets is forgotten. */
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

  #encode(commands: readonly Command[]): {
    readonly messages: readonly OutgoingMessage[]
    /** The command of each message, by index. */
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

  /** Reads the specifications of unknown sets whose elements change. */
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
    const errno = await this.#session.dump(request, (reply) => {
      const read = readSet(attributesOf(reply))
      if (read) sets.set(read.name, read.spec)
    })
    if (errno !== 0 && errno !== ENOENT)
      throw unread(`sets of ${nameOf(table)}`, { errno, text: undefined })
    for (const [name, spec] of sets) this.#specs.set(keyOf(table, name), spec)
    return sets
  }

  /** If a dump is repeated, rules are visited again, so they are stored by their handle. */
  async #readChains({ family, name }: Table): Promise<ReadonlyMap<string, ChainContent>> {
    const chains = new Map<string, { spec: ChainContent['spec']; rules: Map<string, Rule> }>()
    await this.#dump('getChain', writer(family).text(CHAIN.table, name), (attributes) => {
      const read = readChain(attributes)
      if (read?.table === name) chains.set(read.name, { spec: read.spec, rules: new Map() })
    })
    await this.#dump('getRule', writer(family).text(RULE.table, name), (attributes) => {
      const read = readRule(attributes, family)
      const table = findAttribute(attributes, RULE.table)
      if (read === undefined || !table || attributeText(table) !== name) return
      chains.get(read.chain)?.rules.set(handleOf(attributes), read.rule)
    })
    return new Map(
      [...chains].map(([chain, { spec, rules }]) => [chain, { spec, rules: [...rules.values()] }]),
    )
  }

  async #dump(
    type: 'getChain' | 'getRule',
    to: ReturnType<typeof writer>,
    visit: (attributes: Buffer) => void,
  ): Promise<void> {
    const errno = await this.#session.dump(message(type, to), (reply) => visit(attributesOf(reply)))
    if (errno !== 0 && errno !== ENOENT)
      throw unread('chains of nf_tables', { errno, text: undefined })
  }
}

function handleOf(attributes: Buffer): string {
  return findAttribute(attributes, RULE.handle)?.toString('hex') ?? ''
}

function keyOf({ family, name }: Table, set: string): string {
  return `${family}/${name}/${set}`
}

function nameOf({ family, name }: Table): string {
  return `${family === 4 ? 'ip' : 'ip6'} ${name}`
}

/** Bytes: transactions are large, and so are the datagrams of lists. */
const SIZES = { send: 64 * 1024 * 1024, datagram: 32 * 1024 }

/** The nf_tables of the network namespace of this process; its socket opens now. */
export function openNftables(clock: Clock): NetlinkNftables {
  return new NetlinkNftables(rawTransport(NETLINK_NETFILTER, SIZES), clock)
}

export function transactionError(
  error: KernelError,
  command: number | undefined,
): TransactionError {
  return { command, errno: error.errno, message: describe(error) }
}

/** The error for a failed read: without it nothing is known about the kernel. */
function unread(what: string, error: KernelError): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_NETLINK', `${what} cannot be read: ${describe(error)}`)
}

function describe({ errno, text }: KernelError): string {
  const name = getSystemErrorName(-errno)
  const words = (text ?? MEANINGS[errno] ?? '').replaceAll(/[^\x20-\x7e]/g, '?')
  return words === '' ? name : `${name}: ${words}`
}

/**
 * Joins the ranges of single numbers, which the kernel stores as two elements: the first number, and the number after
 * the last one. A range without an end extends to the largest number. An end without a beginning, such as the one at 0
 * that nft writes, is left out.
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

function previous(key: Buffer): Buffer {
  const bytes = Buffer.from(key)
  let at = bytes.length - 1
  while (at >= 0 && bytes[at] === 0) bytes[at--] = 0xff
  if (at >= 0) bytes[at] = (bytes[at] ?? 0) - 1
  return bytes
}

/**
 * The messages of one transaction. Only the last command requests an acknowledgement: older kernels send no
 * acknowledgement for the message that ends the batch.
 */
export function batchOf(
  commands: readonly OutgoingMessage[],
  generation?: number,
): readonly OutgoingMessage[] {
  const begin = edge()
  if (generation !== undefined) begin.be32(BATCH_GENERATION, generation)
  const last = commands.length - 1
  return [
    { type: BATCH_BEGIN, flags: 0, payload: begin.written() },
    ...commands.map((one, index) =>
      index === last ? { ...one, flags: one.flags | NLM_F_ACK } : one,
    ),
    { type: BATCH_END, flags: 0, payload: edge().written() },
  ]
}

/** `struct nfgenmsg`: no family, version 0, and the subsystem in network byte order. */
function edge(): AttributeWriter {
  return new AttributeWriter().header(0, 0, 0, NFNL_SUBSYS.nftables)
}
