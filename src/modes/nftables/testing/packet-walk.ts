import {
  type Expression,
  FIRST_REGISTER,
  type Register,
  VERDICT_REGISTER,
  type Verdict,
} from '../../../kernel/nftables/expression.ts'
import type { Element, Rule } from '../../../kernel/nftables/objects.ts'
import {
  address,
  hostWord,
  port,
  protocol,
  readAddress,
} from '../../../kernel/nftables/rules/encode.ts'
import type { Family, IpAddress } from '../../../lib/ip.ts'
import { CHAIN, isFilledByPackets } from '../keys/names.ts'
import { objectOf } from '../keys/object-key.ts'
import type { NftablesProgram } from '../program/program.ts'

/** What the table of one family contains. */
export interface TableContent {
  readonly chains: ReadonlyMap<string, readonly Rule[]>
  /** Elements of each set by key, in hexadecimal; ranges by their first keys. */
  readonly sets: ReadonlyMap<string, ReadonlyMap<string, Element>>
}

/** The first packet of a TCP connection. */
export interface Packet {
  readonly family: Family
  readonly from: IpAddress
  readonly to: IpAddress
  readonly port: number
  readonly localAddresses: ReadonlySet<string>
}

/** How the table changes during a walk, and what is chosen at random. */
export interface WalkOptions {
  readonly before: TableContent
  readonly after: TableContent
  /** How many readings return `before`; all later ones return `after`. */
  readonly flipAt: number
  /**
   * Whether the first reading of `after` misses elements that the change replaces: kernels before 6.17 may
   * find neither the old nor the new one.
   */
  readonly losesReplaced: boolean
  /** The number that `numgen` returns for `modulus`. */
  readonly choose: (modulus: number) => number
}

/** Where a packet ends: `10.180.0.1:8080 masqueraded`, `rejected`, `dropped`, or `passed` untranslated. */
export interface WalkResult {
  readonly end: string
  /** The number of readings. */
  readonly readings: number
}

/** NF_CT_STATE_BIT(IP_CT_NEW) */
const STATE_NEW = 8
/** IPS_DST_NAT */
const STATUS_DNAT = 0x20
/** linux/rtnetlink.h: enum rtm_type. */
const RTN_UNICAST = 1
const RTN_LOCAL = 2

const PREROUTING = [CHAIN.prerouting, CHAIN.preroutingAgain]

/** The table of one family as a program wants it. */
export function tableOf(program: NftablesProgram, family: Family): TableContent {
  const chains = new Map<string, readonly Rule[]>()
  const sets = new Map<string, Map<string, Element>>()
  const add = (set: string, element: Element): void => {
    const elements = sets.get(set) ?? new Map<string, Element>()
    sets.set(set, elements.set(element.key.toString('hex'), element))
  }
  for (const key of program.wantedKeys()) {
    if (objectOf(key).family !== family) continue
    const content = program.contentOf(key)
    if (content?.kind === 'chain') chains.set(content.name, content.rules)
    if (content?.kind === 'set') {
      if (!sets.has(content.name)) sets.set(content.name, new Map())
      for (const element of content.elements) add(content.name, element)
    }
    if (content?.kind === 'frontend') {
      for (const { set, element } of content.elements) add(set, element)
    }
  }
  return { chains, sets }
}

/** The same with these elements in each map that packets fill. */
export function withClients(
  { chains, sets }: TableContent,
  clients: readonly Element[],
): TableContent {
  const held = new Map(clients.map((element) => [element.key.toString('hex'), element]))
  const filled = [...sets.keys()].filter(isFilledByPackets)
  return { chains, sets: new Map([...sets, ...filled.map((name) => [name, held] as const)]) }
}

/**
 * Follows a packet through the chains that translate and those that refuse, while the table changes from `before` to
 * `after` at one of its readings. As in the kernel, the rules are those at the moment at which a base chain begins,
 * and each look-up is a reading of its own.
 */
export function walk(packet: Packet, options: WalkOptions): WalkResult {
  const machine = new Machine(packet, options)
  const end = machine.run()
  return { end, readings: machine.readings }
}

type End = 'accept' | 'drop' | 'reject' | 'continue'

/** The expressions that put something into a register. */
type Loading = Extract<Expression, { type: 'payload' | 'meta' | 'ct' | 'fib' | 'random' | 'load' }>

class Machine {
  readonly #packet: Packet
  readonly #options: WalkOptions
  readonly #registers = Buffer.alloc(64)
  #mark = 0
  #translation: string | undefined
  #isMasqueraded = false
  readings = 0

  constructor(packet: Packet, options: WalkOptions) {
    this.#packet = packet
    this.#options = options
  }

  run(): string {
    for (const chain of PREROUTING) {
      if (this.#translation !== undefined) break
      if (this.#base(chain) === 'drop') return 'dropped'
    }
    if (this.#translation === undefined) {
      const end = this.#base(CHAIN.filterForward)
      if (end === 'drop') return 'dropped'
      return end === 'reject' ? 'rejected' : 'passed'
    }
    this.#base(CHAIN.postrouting)
    return `${this.#translation}${this.#isMasqueraded ? ' masqueraded' : ''}`
  }

  /** One base chain; a base chain that does not exist accepts. */
  #base(chain: string): End {
    const rules = this.#read()
    return rules.chains.has(chain) ? this.#chain(chain, rules) : 'accept'
  }

  #chain(name: string, table: TableContent): End {
    for (const { expressions } of table.chains.get(name) ?? []) {
      const verdict = this.#rule(expressions)
      if (verdict === undefined || verdict === 'continue') continue
      if (typeof verdict === 'string') return verdict
      switch (verdict.kind) {
        case 'accept':
        case 'drop':
          return verdict.kind
        case 'return':
          return 'continue'
        case 'continue':
          continue
        case 'goto':
          return this.#chain(verdict.chain, table)
        case 'jump': {
          const end = this.#chain(verdict.chain, table)
          if (end !== 'continue') return end
        }
      }
    }
    return 'continue'
  }

  /** Undefined if the packet does not match, or the rule decides nothing. */
  #rule(expressions: readonly Expression[]): Verdict | End | undefined {
    for (const one of expressions) {
      switch (one.type) {
        case 'cmp':
          if (this.#bytes(one.from, one.value.length).equals(one.value) !== (one.is === 'equal'))
            return undefined
          break
        case 'lookup': {
          const element = this.#lookUp(one.set, one.key)
          if ((element === undefined) !== (one.isInverted === true)) return undefined
          if (one.to === undefined) break
          const data = element?.data
          if (one.to === VERDICT_REGISTER) return data as Verdict
          this.#load(one.to, data as Buffer)
          break
        }
        case 'verdict':
          return one.verdict
        case 'reject':
          return 'reject'
        case 'nat':
          this.#translate(one)
          return 'accept'
        case 'masquerade':
          this.#isMasqueraded = true
          return 'accept'
        case 'setMeta':
          this.#mark = this.#bytes(one.from, 4).readUInt32LE()
          break
        case 'bitwise':
          this.#bitwise(one)
          break
        case 'dynamic':
        case 'counter':
          break
        case 'payload':
        case 'meta':
        case 'ct':
        case 'fib':
        case 'random':
        case 'load':
          this.#load(one.to, this.#value(one))
          break
        case 'duplicate':
        case 'limit':
        case 'log':
          throw new Error(`${one.type} is in no rule of the mode`)
        case 'foreign':
          throw new Error(`${one.name} is no expression of ours`)
      }
    }
    return undefined
  }

  #value(one: Loading): Buffer {
    const { family, from, to, port: number, localAddresses } = this.#packet
    switch (one.type) {
      case 'payload': {
        if (one.base === 'transport') return port(number)
        const isSource = one.offset === (family === 4 ? 12 : 8)
        return address(isSource ? from : to).subarray(0, one.length)
      }
      case 'meta':
        return one.key === 'mark' ? hostWord(this.#mark) : protocol('TCP')
      case 'ct':
        return hostWord(one.key === 'state' ? STATE_NEW : this.#status)
      case 'fib':
        return hostWord(
          localAddresses.has(one.of === 'saddr' ? from : to) ? RTN_LOCAL : RTN_UNICAST,
        )
      case 'random':
        return hostWord((one.offset ?? 0) + this.#options.choose(one.modulus))
      case 'load':
        return one.value
    }
  }

  get #status(): number {
    return this.#translation === undefined ? 0 : STATUS_DNAT
  }

  #translate({ address: ip, port: number }: Extract<Expression, { type: 'nat' }>): void {
    const bytes = this.#bytes(ip, this.#packet.family === 4 ? 4 : 16)
    const target = `${readAddress(bytes)}:${this.#bytes(number, 2).readUInt16BE()}`
    this.#translation = target
  }

  #bitwise({ from, to, mask, xor }: Extract<Expression, { type: 'bitwise' }>): void {
    const bytes = this.#bytes(from, mask.length)
    this.#load(to, Buffer.from(bytes.map((byte, index) => (byte & mask[index]!) ^ xor[index]!)))
  }

  /** The table at this moment. */
  #read(): TableContent {
    return this.readings++ < this.#options.flipAt ? this.#options.before : this.#options.after
  }

  #lookUp(set: string, register: Register): Element | undefined {
    const isFlip = this.readings === this.#options.flipAt
    const elements = this.#read().sets.get(set)
    if (elements === undefined) return undefined
    const [first] = elements.values()
    const key = this.#bytes(register, first?.key.length ?? 0)
    const found = first?.keyEnd ? inRange(elements, key) : elements.get(key.toString('hex'))
    const { before, losesReplaced } = this.#options
    const replaced = before.sets.get(set)?.get(key.toString('hex'))
    const isLost = losesReplaced && isFlip && replaced !== undefined && !isSame(replaced, found)
    return isLost ? undefined : found
  }

  #bytes(register: Register, length: number): Buffer {
    const at = (register - FIRST_REGISTER) * 4
    return Buffer.from(this.#registers.subarray(at, at + length))
  }

  #load(register: Register, value: Buffer): void {
    const at = (register - FIRST_REGISTER) * 4
    this.#registers.fill(0, at, at + Math.ceil(value.length / 4) * 4)
    value.copy(this.#registers, at)
  }
}

function inRange(elements: ReadonlyMap<string, Element>, key: Buffer): Element | undefined {
  return elements
    .values()
    .find((one) => one.key.compare(key) <= 0 && (one.keyEnd ?? one.key).compare(key) >= 0)
}

function isSame(one: Element, other: Element | undefined): boolean {
  return JSON.stringify(one.data) === JSON.stringify(other?.data)
}
