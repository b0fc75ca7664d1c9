import type { Expression } from '../../../kernel/nftables/expression.ts'
import type { FieldType, Rule, SetSpec } from '../../../kernel/nftables/objects.ts'
import { formatIp } from '../../../lib/ip.ts'
import { showVerdict, wordsOfType } from './show-value.ts'

/** The content of a register: its source, and the part that remains after a mask. */
interface Loaded {
  readonly text: string
  readonly mask?: Buffer
  readonly xor?: Buffer
}

/**
 * Rules as text, for tests, in words similar to those of nft. It tracks the content of each register, so a rule that
 * looks for a key in the wrong registers has `nothing` in its text. Values are shown as bytes.
 */
export class RuleText {
  readonly #sets: ReadonlyMap<string, SetSpec>
  #registers = new Map<number, Loaded>()

  constructor(sets: ReadonlyMap<string, SetSpec>) {
    this.#sets = sets
  }

  of({ expressions }: Rule): string {
    this.#registers = new Map()
    return expressions.flatMap((one) => this.#step(one) ?? []).join(' ')
  }

  /** Undefined if the step only loads something. */
  #step(one: Expression): string | undefined {
    switch (one.type) {
      case 'bitwise':
        return this.#load(one.to, { ...this.#at(one.from), mask: one.mask, xor: one.xor })
      case 'cmp':
        return `${masked(this.#at(one.from))} ${one.is === 'equal' ? '==' : '!='} ${one.value.toString('hex')}`
      case 'lookup':
        return this.#lookup(one)
      case 'setMeta':
        return `mark set ${changed(this.#at(one.from))}`
      case 'dynamic':
        return this.#change(one)
      case 'nat':
        return `dnat to ${this.#at(one.address).text} : ${this.#at(one.port).text}`
      case 'duplicate':
        return `dup to ${this.#at(one.address).text}`
      case 'masquerade':
        return one.isFullyRandom ? 'masquerade fully-random' : 'masquerade'
      case 'reject':
        return `reject with ${one.with}`
      case 'verdict':
        return showVerdict(one.verdict)
      case 'limit':
        return `limit ${one.isOver ? 'over ' : ''}${one.perSecond}/s burst ${one.burst}`
      case 'log':
        return `log ${one.prefix} to ${one.group}`
      case 'counter':
      case 'foreign':
        return one.type
      case 'load':
      case 'meta':
      case 'payload':
      case 'ct':
      case 'fib':
      case 'random':
        return this.#load(one.to, { text: nameOf(one) })
    }
  }

  #lookup({ set, key, to, isInverted }: Extract<Expression, { type: 'lookup' }>) {
    const { key: types = [], data = [] } = this.#sets.get(set) ?? {}
    const text = this.#key(key, types)
    if (to === undefined) return `${text} ${isInverted ? '!= ' : ''}@${set}`
    if (to === 0) return `${text} vmap @${set}`
    let register = to
    for (const type of data as readonly FieldType[]) {
      this.#load(register, { text: `${text} map @${set}` })
      register += wordsOfType(type)
    }
    return undefined
  }

  #change({ operation, set, key, data, ...does }: Extract<Expression, { type: 'dynamic' }>) {
    const spec = this.#sets.get(set)
    const client = this.#key(key, spec?.key ?? [])
    const value = this.#key(data ?? 0, (spec?.data ?? []) as readonly FieldType[])
    const until = does.timeout === undefined ? '' : ` timeout ${does.timeout}ms`
    const counter = does.counts ? ' counter' : ''
    const target = spec?.data === undefined ? '' : ` : ${value}`
    return `${operation} @${set} { ${client}${until}${counter}${target} }`
  }

  #load(register: number, loaded: Loaded): undefined {
    this.#registers.set(register, loaded)
    return undefined
  }

  #at(register: number): Loaded {
    return this.#registers.get(register) ?? { text: 'nothing' }
  }

  #key(first: number, types: readonly FieldType[]): string {
    let register = first
    const fields = types.map((type) => {
      const { text, mask } = this.#at(register)
      register += wordsOfType(type)
      return mask === undefined ? text : `${text} & ${formatIp(mask)}`
    })
    return fields.join(' . ')
  }
}

type Load = Extract<Expression, { type: 'load' | 'meta' | 'payload' | 'ct' | 'fib' | 'random' }>

function nameOf(one: Load): string {
  switch (one.type) {
    case 'meta':
      return one.key
    case 'payload':
      return one.base === 'transport' ? 'dport' : addressName(one.offset, one.length)
    case 'ct':
      return `ct ${one.direction === undefined ? '' : `${one.direction} `}${one.key}`
    case 'fib':
      return `fib ${one.of} ${one.result}`
    case 'random':
      return `random mod ${one.modulus}${one.offset === undefined ? '' : ` offset ${one.offset}`}`
    case 'load':
      return one.value.toString('hex')
  }
}

/** By offset and length in the headers of IPv4 and IPv6; `saddr/8`: its first byte. */
function addressName(offset: number, length: number): string {
  const whole = offset === 12 || offset === 16 ? 4 : 16
  const name = { 12: 'saddr', 16: 'daddr', 8: 'saddr', 24: 'daddr' }[offset] ?? 'nothing'
  return length === whole ? name : `${name}/${length * 8}`
}

function masked({ text, mask }: Loaded): string {
  return mask === undefined ? text : `${text} & ${mask.toString('hex')}`
}

function changed({ text, mask, xor }: Loaded): string {
  const bits = [mask, xor].map((bytes) => bytes?.readUInt32LE().toString(16).padStart(8, '0'))
  return `${text} & ${bits[0]} ^ ${bits[1]}`
}
