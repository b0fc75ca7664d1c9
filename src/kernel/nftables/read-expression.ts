import type { Family } from '../../lib/ip.ts'
import { findAttribute, findText } from '../netlink/attribute.ts'
import { align } from '../netlink/message.ts'
import { DATA, EXPRESSION, LIST_ELEMENT, VERDICT } from './attributes.ts'
import type { ConntrackKey, Expression, Verdict } from './expression.ts'
import * as number from './numbers.ts'

/** Reads the expressions of a rule. An expression that `writeExpression` would write differently becomes `foreign`. */
export function readExpressions(list: Buffer, family: Family): readonly Expression[] {
  const expressions: Expression[] = []
  eachAttribute(list, (type, value) => {
    if (type !== LIST_ELEMENT) return
    const name = findText(value, EXPRESSION.name) ?? ''
    const data = findAttribute(value, EXPRESSION.data) ?? Buffer.alloc(0)
    expressions.push(READERS[name]?.(new Fields(data), family) ?? { type: 'foreign', name })
  })
  return expressions
}

/** Reads the content of NFTA_DATA_VERDICT; undefined for a verdict that `writeVerdict` does not write. */
export function readVerdict(value: Buffer): Verdict | undefined {
  const code = findAttribute(value, VERDICT.code)
  if (code?.length !== 4) return undefined
  const kind = number.keyOf(number.VERDICT_CODE, code.readInt32BE(0))
  if (kind !== 'jump' && kind !== 'goto') return kind && { kind }
  const chain = findText(value, VERDICT.chain)
  return chain === undefined ? undefined : { kind, chain }
}

/** The attributes of one expression, by type. Each method returns undefined if there is no such attribute. */
class Fields {
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  be32(type: number): number | undefined {
    const value = findAttribute(this.#bytes, type)
    return value?.length === 4 ? value.readUInt32BE(0) : undefined
  }

  be16(type: number): number | undefined {
    const value = findAttribute(this.#bytes, type)
    return value?.length === 2 ? value.readUInt16BE(0) : undefined
  }

  be64(type: number): number | undefined {
    const value = findAttribute(this.#bytes, type)
    return value?.length === 8 ? Number(value.readBigUInt64BE(0)) : undefined
  }

  u8(type: number): number | undefined {
    return findAttribute(this.#bytes, type)?.[0]
  }

  text(type: number): string | undefined {
    return findText(this.#bytes, type)
  }

  /** A copy of the NFTA_DATA_VALUE inside the attribute. */
  value(type: number): Buffer | undefined {
    const found = findAttribute(this.#bytes, type)
    const value = found && findAttribute(found, DATA.value)
    return value && Buffer.from(value)
  }

  nested(type: number): Buffer | undefined {
    return findAttribute(this.#bytes, type)
  }

  register(type: number): number | undefined {
    const found = this.be32(type)
    return found === undefined ? undefined : number.registerOf(found)
  }
}

type Reader = (fields: Fields, family: Family) => Expression | undefined

/**
 * Readers by the kernel's names of expressions. They return undefined for what `writeExpression` would write
 * differently. The numbers are the types of the attributes: each expression has an enum in nf_tables.h, which begins
 * at 1.
 */
const READERS: Readonly<Record<string, Reader>> = {
  meta(fields) {
    const key = number.keyOf(number.META, fields.be32(2))
    const [to, from] = [fields.register(1), fields.register(3)]
    if (key === 'mark' && from !== undefined) return { type: 'setMeta', key, from }
    return key && to !== undefined ? { type: 'meta', key, to } : undefined
  },
  payload(fields) {
    const base = number.keyOf(number.BASE, fields.be32(2))
    const [to, offset, length] = [fields.register(1), fields.be32(3), fields.be32(4)]
    if (!base || to === undefined || offset === undefined || length === undefined) return undefined
    return { type: 'payload', base, offset, length, to }
  },
  ct(fields, family) {
    const key = conntrackKey(fields.be32(2), family)
    const to = fields.register(1)
    const direction = number.keyOf(number.DIRECTION, fields.u8(3))
    if (key === undefined || to === undefined) return undefined
    return { type: 'ct', key, ...(direction && { direction }), to }
  },
  fib(fields) {
    const result = number.keyOf(number.FIB_RESULT, fields.be32(2))
    const of = number.keyOf(number.FIB_OF, fields.be32(3))
    const to = fields.register(1)
    return result && of && to !== undefined ? { type: 'fib', result, of, to } : undefined
  },
  numgen(fields) {
    const [to, modulus] = [fields.register(1), fields.be32(2)]
    const offset = fields.be32(4) ?? 0
    const isRandom = fields.be32(3) === number.RANDOM
    if (!isRandom || to === undefined || modulus === undefined) return undefined
    return { type: 'random', modulus, ...(offset === 0 ? undefined : { offset }), to }
  },
  bitwise(fields) {
    const [from, to, mask, xor] = [
      fields.register(1),
      fields.register(2),
      fields.value(4),
      fields.value(5),
    ]
    // NFT_BITWISE_MASK_XOR; others shift, or combine two registers.
    const isMask = (fields.be32(6) ?? 0) === 0
    if (!isMask || from === undefined || to === undefined || !mask || !xor) return undefined
    return { type: 'bitwise', from, to, mask, xor }
  },
  cmp(fields) {
    const is = number.keyOf(number.COMPARE, fields.be32(2))
    const [from, value] = [fields.register(1), fields.value(3)]
    return is && from !== undefined && value ? { type: 'cmp', from, is, value } : undefined
  },
  immediate(fields) {
    const to = fields.register(1)
    const value = fields.value(2)
    if (to !== undefined && value) return { type: 'load', value, to }
    const data = fields.nested(2)
    const nested = data && findAttribute(data, DATA.verdict)
    const verdict = nested && readVerdict(nested)
    return to === 0 && verdict ? { type: 'verdict', verdict } : undefined
  },
  lookup(fields) {
    const [set, key, to] = [fields.text(1), fields.register(2), fields.register(3)]
    const isInverted = ((fields.be32(5) ?? 0) & number.INVERTED) !== 0
    if (set === undefined || key === undefined) return undefined
    return {
      type: 'lookup',
      set,
      key,
      ...(to === undefined ? {} : { to }),
      ...(isInverted ? { isInverted } : {}),
    }
  },
  dynset(fields) {
    const operation = number.keyOf(number.DYNAMIC, fields.be32(3))
    const [set, key] = [fields.text(1), fields.register(4)]
    const [data, timeout] = [fields.register(5), fields.be64(6)]
    const does = fields.nested(7)
    const counts = does !== undefined && isCounter(does)
    const isOther = (does !== undefined && !counts) || fields.nested(10) !== undefined
    if (!operation || set === undefined || key === undefined || isOther) return undefined
    return {
      type: 'dynamic',
      operation,
      set,
      key,
      ...(data === undefined ? {} : { data }),
      ...(timeout ? { timeout } : {}),
      ...(counts ? { counts } : {}),
    }
  },
  nat(fields) {
    const to = number.keyOf(number.NAT, fields.be32(1))
    const family = fields.be32(2) === 2 ? 4 : 6
    const [address, port] = [fields.register(3), fields.register(5)]
    const isSingle = fields.register(4) === address && fields.register(6) === port
    if (!to || !isSingle || address === undefined || port === undefined) return undefined
    return { type: 'nat', to, family, address, port }
  },
  masq(fields) {
    const flags = fields.be32(1) ?? 0
    if (flags !== 0 && flags !== number.FULLY_RANDOM) return undefined
    return { type: 'masquerade', isFullyRandom: flags !== 0 }
  },
  dup(fields) {
    // NFTA_DUP_SREG_DEV: a copy that leaves by a certain interface.
    const [address, device] = [fields.register(1), fields.register(2)]
    return address === undefined || device !== undefined
      ? undefined
      : { type: 'duplicate', address }
  },
  reject(fields, family) {
    const [type, code] = [fields.be32(1), fields.u8(2)]
    if (type === number.REJECT.tcpReset) return { type: 'reject', with: 'tcpReset' }
    const isPort = type === number.REJECT.unreachable && code === number.PORT_UNREACHABLE[family]
    return isPort ? { type: 'reject', with: 'portUnreachable' } : undefined
  },
  counter: () => ({ type: 'counter' }),
  limit(fields) {
    const [perSecond, unit, burst] = [fields.be64(1), fields.be64(2), fields.be32(3)]
    const isOfPackets = fields.be32(4) === number.LIMITS_PACKETS
    const isOver = ((fields.be32(5) ?? 0) & number.INVERTED) !== 0
    const isPerSecond = unit === Number(number.ONE_SECOND)
    if (!isOfPackets || !isPerSecond || perSecond === undefined || burst === undefined)
      return undefined
    return { type: 'limit', perSecond, burst, ...(isOver ? { isOver } : {}) }
  },
  log(fields) {
    const [group, prefix] = [fields.be16(1), fields.text(2)]
    // NFTA_LOG_SNAPLEN and NFTA_LOG_QTHRESHOLD; a rule with a level has no group.
    const hasMore = fields.nested(3) !== undefined || fields.nested(4) !== undefined
    if (group === undefined || prefix === undefined || hasMore) return undefined
    return { type: 'log', group, prefix }
  },
}

function isCounter(expression: Buffer): boolean {
  return findText(expression, EXPRESSION.name) === 'counter'
}

function conntrackKey(value: number | undefined, family: Family): ConntrackKey | undefined {
  const { saddr, daddr, ...others } = number.CONNTRACK
  if (value === saddr[family]) return 'saddr'
  if (value === daddr[family]) return 'daddr'
  return number.keyOf(others, value)
}

/** The size of `struct nlattr` in bytes. */
const HEADER = 4
/** The two upper bits of a type mean "nested" and "network byte order". */
const TYPE_MASK = 0x3fff

/**
 * Visits the attributes of a list in their order, from the offset `start` up to the first one with an impossible
 * length. The values are views of `bytes`.
 */
export function eachAttribute(
  bytes: Buffer,
  visit: (type: number, value: Buffer) => void,
  start = 0,
): void {
  for (let at = start; at + HEADER <= bytes.length; ) {
    const length = bytes.readUInt16LE(at)
    if (length < HEADER || at + length > bytes.length) return
    visit(bytes.readUInt16LE(at + 2) & TYPE_MASK, bytes.subarray(at + HEADER, at + length))
    at += align(length)
  }
}
