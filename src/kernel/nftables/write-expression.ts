import type { Family } from '../../lib/ip.ts'
import type { AttributeWriter } from '../netlink/attribute-writer.ts'
import { NFPROTO } from '../netlink/nfnetlink.ts'
import { DATA, EXPRESSION, LIST_ELEMENT, VERDICT } from './attributes.ts'
import type { Expression, Verdict } from './expression.ts'
import * as number from './numbers.ts'

/** Writes one expression of a rule, as an element of a list. @throws TypeError for a `foreign` expression */
export function writeExpression(to: AttributeWriter, expression: Expression, family: Family): void {
  to.nest(LIST_ELEMENT, () => {
    to.text(EXPRESSION.name, nameOf(expression))
    to.nest(EXPRESSION.data, () => writeData(to, expression, family))
  })
}

/** Writes NFTA_DATA_VERDICT. */
export function writeVerdict(to: AttributeWriter, verdict: Verdict): void {
  to.nest(DATA.verdict, () => {
    to.be32(VERDICT.code, number.VERDICT_CODE[verdict.kind])
    if ('chain' in verdict) to.text(VERDICT.chain, verdict.chain)
  })
}

/** The kernel's names of expressions. */
const NAMES = {
  meta: 'meta',
  setMeta: 'meta',
  payload: 'payload',
  ct: 'ct',
  fib: 'fib',
  random: 'numgen',
  bitwise: 'bitwise',
  cmp: 'cmp',
  load: 'immediate',
  lookup: 'lookup',
  dynamic: 'dynset',
  nat: 'nat',
  masquerade: 'masq',
  duplicate: 'dup',
  reject: 'reject',
  counter: 'counter',
  limit: 'limit',
  log: 'log',
  verdict: 'immediate',
} as const satisfies Record<Exclude<Expression['type'], 'foreign'>, string>

function nameOf(expression: Expression): string {
  return expression.type === 'foreign' ? expression.name : NAMES[expression.type]
}

function writePayload(to: AttributeWriter, one: Extract<Expression, { type: 'payload' }>): void {
  to.be32(1, one.to).be32(2, number.BASE[one.base]).be32(3, one.offset).be32(4, one.length)
}

function writeRandom(to: AttributeWriter, one: Extract<Expression, { type: 'random' }>): void {
  to.be32(1, one.to)
    .be32(2, one.modulus)
    .be32(3, number.RANDOM)
    .be32(4, one.offset ?? 0)
}

function writeDynamic(to: AttributeWriter, one: Extract<Expression, { type: 'dynamic' }>): void {
  to.text(1, one.set).be32(3, number.DYNAMIC[one.operation]).be32(4, one.key)
  if (one.data !== undefined) to.be32(5, one.data)
  if (one.timeout) to.be64(6, BigInt(one.timeout))
  if (one.counts) to.nest(7, () => to.text(EXPRESSION.name, 'counter'))
}

function writeLimit(to: AttributeWriter, one: Extract<Expression, { type: 'limit' }>): void {
  to.be64(1, BigInt(one.perSecond))
    .be64(2, number.ONE_SECOND)
    .be32(3, one.burst)
    .be32(4, number.LIMITS_PACKETS)
    .be32(5, one.isOver ? number.INVERTED : 0)
}

/**
 * Writes the attributes of an expression. Each expression numbers its own from 1, in the order of its enum in
 * nf_tables.h.
 */
function writeData(to: AttributeWriter, one: Expression, family: Family): void {
  switch (one.type) {
    case 'meta':
      return void to.be32(1, one.to).be32(2, number.META[one.key])
    case 'setMeta':
      return void to.be32(2, number.META[one.key]).be32(3, one.from)
    case 'payload':
      return writePayload(to, one)
    case 'ct':
      to.be32(1, one.to).be32(2, conntrackKey(one.key, family))
      if (one.direction) to.u8(3, number.DIRECTION[one.direction])
      return
    case 'fib':
      return void to
        .be32(1, one.to)
        .be32(2, number.FIB_RESULT[one.result])
        .be32(3, number.FIB_OF[one.of])
    case 'random':
      return writeRandom(to, one)
    case 'bitwise':
      to.be32(1, one.from).be32(2, one.to).be32(3, one.mask.length)
      writeValue(to, 4, one.mask)
      return writeValue(to, 5, one.xor)
    case 'cmp':
      to.be32(1, one.from).be32(2, number.COMPARE[one.is])
      return writeValue(to, 3, one.value)
    case 'load':
      to.be32(1, one.to)
      return writeValue(to, 2, one.value)
    case 'lookup':
      to.text(1, one.set).be32(2, one.key)
      if (one.to !== undefined) to.be32(3, one.to)
      if (one.isInverted) to.be32(5, number.INVERTED)
      return
    case 'dynamic':
      return writeDynamic(to, one)
    case 'nat':
      to.be32(1, number.NAT[one.to]).be32(2, NFPROTO[one.family])
      return void to.be32(3, one.address).be32(4, one.address).be32(5, one.port).be32(6, one.port)
    case 'masquerade':
      if (one.isFullyRandom) to.be32(1, number.FULLY_RANDOM)
      return
    case 'duplicate':
      return void to.be32(1, one.address)
    case 'reject':
      return writeReject(to, one.with, family)
    case 'verdict':
      return void to.be32(1, 0).nest(2, () => writeVerdict(to, one.verdict))
    case 'counter':
      return
    case 'limit':
      return writeLimit(to, one)
    case 'log':
      return void to.be16(1, one.group).text(2, one.prefix)
    case 'foreign':
      throw new TypeError(`an expression of another program cannot be written: ${one.name}`)
  }
}

function writeValue(to: AttributeWriter, type: number, value: Buffer): void {
  to.nest(type, () => to.bytes(DATA.value, value))
}

function writeReject(
  to: AttributeWriter,
  how: 'tcpReset' | 'portUnreachable',
  family: Family,
): void {
  if (how === 'tcpReset') to.be32(1, number.REJECT.tcpReset).u8(2, 0)
  else to.be32(1, number.REJECT.unreachable).u8(2, number.PORT_UNREACHABLE[family])
}

function conntrackKey(key: keyof typeof number.CONNTRACK, family: Family): number {
  const found = number.CONNTRACK[key]
  return typeof found === 'number' ? found : found[family]
}
