import type { IpAddress } from '../../lib/ip.ts'
import type { Endpoint } from '../packet/packet-state.ts'
import {
  ABSENT,
  type Chance,
  certain,
  type Evaluated,
  type Evaluation,
  isUnknown,
  lookUp,
  setOf,
} from './look-up.ts'
import { isList, isObject, type Json, type JsonObject, onlyMember, textOf } from './model/json.ts'
import {
  addressPart,
  flagsOf,
  literalNumber,
  numberPart,
  type Part,
  protocolNumber,
  SYN,
  textPart,
} from './model/value.ts'

/** If a generator has more values, the outcome counts as unknown. */
const MAX_VALUES = 4096

const FIELDS: Readonly<Record<string, (of: JsonObject, evaluation: Evaluation) => Evaluated>> = {
  payload,
  meta,
  ct: connection,
  fib,
}

const OPERATIONS: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '&': (a, b) => a & b,
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
  '<<': (a, b) => a << b,
  '>>': (a, b) => a >> b,
}

/** The values that an expression of `nft -j` may have for a packet. */
export function evaluate(expression: Json, evaluation: Evaluation): Evaluated {
  const [name, inner] = onlyMember(expression) ?? []
  if (name === undefined) return literal(expression)
  const field = FIELDS[name]
  if (field !== undefined && isObject(inner)) return field(inner, evaluation)
  if (name === 'concat' && isList(inner)) return concat(inner, evaluation)
  if (name === 'map' && isObject(inner)) return mapped(inner, evaluation)
  if (name === 'numgen' || name === 'jhash' || name === 'symhash') return generated(inner)
  const operation = OPERATIONS[name]
  if (operation !== undefined && isList(inner)) return combined(operation, inner, evaluation)
  return { unknown: `the expression ${name}` }
}

function literal(value: Json): Evaluated {
  const number = literalNumber(value)
  if (number !== undefined) {
    const isAddress = typeof value === 'string' && /[.:]/.test(value)
    return certain(numberPart(number, isAddress ? 'address' : 'number'))
  }
  return typeof value === 'string' ? certain(textPart(value)) : { unknown: JSON.stringify(value) }
}

/** Every combination of the values of the parts. */
function concat(expressions: readonly Json[], evaluation: Evaluation): Evaluated {
  let combined: readonly Chance[] = [{ probability: 1, parts: [] }]
  for (const expression of expressions) {
    const next = evaluate(expression, evaluation)
    if (isUnknown(next)) return next
    combined = combined.flatMap((one) =>
      next.map((other) => ({
        probability: one.probability * other.probability,
        parts: [...one.parts, ...other.parts],
      })),
    )
  }
  return combined
}

/** Values of a map. Keys without an element are left out: the rule does not apply to them. */
function mapped({ key, data }: JsonObject, evaluation: Evaluation): Evaluated {
  const keys = evaluate(key ?? null, evaluation)
  if (isUnknown(keys)) return keys
  const set = setOf(data ?? null, evaluation)
  if ('unknown' in set) return set
  const found: Chance[] = []
  for (const { probability, parts } of keys) {
    const value = lookUp(set, parts)
    if (isObject(value) && 'unknown' in value) return { unknown: textOf(value['unknown']) }
    if (value === undefined) continue
    const evaluated = evaluate(value, evaluation)
    if (isUnknown(evaluated)) return evaluated
    found.push(...evaluated.map((one) => ({ ...one, probability: one.probability * probability })))
  }
  return found
}

/** Random numbers and hashes of the client's port: all values are equally likely. */
function generated(inner: Json | undefined): Evaluated {
  const { mod = 0, offset = 0 } = isObject(inner) ? inner : {}
  const count = Number(mod)
  if (!(count >= 1 && count <= MAX_VALUES)) return { unknown: `a number of ${count}` }
  const probability = 1 / count
  return Array.from({ length: count }, (_, index) => ({
    probability,
    parts: [numberPart(index + Number(offset))],
  }))
}

function combined(
  operation: (a: bigint, b: bigint) => bigint,
  [left, right]: readonly Json[],
  evaluation: Evaluation,
): Evaluated {
  const one = evaluate(left ?? null, evaluation)
  if (isUnknown(one)) return one
  const flags = one[0]?.parts[0]?.kind === 'flags' ? flagsOf(right ?? null) : undefined
  const other =
    flags === undefined ? evaluate(right ?? null, evaluation) : certain(numberPart(flags))
  if (isUnknown(other)) return other
  const found: Chance[] = []
  for (const a of one) {
    for (const b of other) {
      const [first, second] = [a.parts[0], b.parts[0]]
      if (typeof first?.value !== 'bigint' || typeof second?.value !== 'bigint') {
        return { unknown: 'an operation on what is no number' }
      }
      const part: Part = { kind: first.kind, value: operation(first.value, second.value) }
      found.push({ probability: a.probability * b.probability, parts: [part] })
    }
  }
  return found
}

/** `payload`: a header field. Fields of another family or protocol are absent. */
function payload({ protocol, field }: JsonObject, { packet }: Evaluation): Evaluated {
  const { family } = packet
  if (protocol === 'ip' || protocol === 'ip6') {
    return (protocol === 'ip') === (family === 4) ? ipHeader(textOf(field), packet) : ABSENT
  }
  const isTransport = protocol === 'th' || protocol === packet.protocol.toLowerCase()
  if (!['th', 'tcp', 'udp', 'sctp'].includes(textOf(protocol))) return unknown(protocol, field)
  if (!isTransport) return ABSENT
  if (field === 'flags' && protocol === 'tcp') return certain(numberPart(SYN, 'flags'))
  if (field === 'dport') return certain(numberPart(packet.dstPort))
  if (field !== 'sport') return unknown(protocol, field)
  return packet.srcPort === undefined
    ? unknown(protocol, field)
    : certain(numberPart(packet.srcPort))
}

function ipHeader(field: string, packet: Evaluation['packet']): Evaluated {
  if (field === 'saddr') return certain(addressPart(packet.src))
  if (field === 'daddr') return certain(addressPart(packet.dst))
  const isProtocol = field === 'protocol' || field === 'nexthdr'
  if (isProtocol) return certain(numberPart(protocolNumber(packet.protocol), 'protocol'))
  return { unknown: `the field ${field} of the IP header` }
}

/** `meta`: what the kernel knows about the packet. */
function meta({ key }: JsonObject, { packet, facts }: Evaluation): Evaluated {
  switch (textOf(key)) {
    case 'l4proto':
      return certain(numberPart(protocolNumber(packet.protocol), 'protocol'))
    case 'nfproto':
      return certain(textPart(packet.family === 4 ? 'ipv4' : 'ipv6'))
    case 'protocol':
      return certain(textPart(packet.family === 4 ? 'ip' : 'ip6'))
    case 'mark':
      return certain(numberPart(packet.mark))
    case 'iif':
    case 'iifname':
      return certain(textPart(packet.inInterface ?? ''))
    case 'oif':
    case 'oifname':
      return certain(textPart(packet.outInterface ?? ''))
    case 'pkttype': {
      const type = facts.addressType(packet.dst)
      return certain(textPart(type === 'broadcast' || type === 'multicast' ? type : 'host'))
    }
    default:
      return { unknown: `meta ${textOf(key)}` }
  }
}

/** `ct`: what connection tracking knows; the packet has the original direction. */
function connection({ key, dir }: JsonObject, { packet }: Evaluation): Evaluated {
  const { connection: known } = packet
  const isUntracked = known.status === 'untracked'
  if (key === 'state') return certain({ kind: 'words', value: new Set([known.status]) })
  if (isUntracked) return ABSENT
  if (key === 'status') return certain({ kind: 'words', value: statusOf(packet) })
  if (key === 'direction') return certain(textPart('original'))
  if (key === 'mark') return certain(numberPart(known.mark))
  const { src, dst } = dir === 'reply' ? replyOf(packet) : known.original
  const field = textOf(key).replace(/^ip6? /, '')
  if (field === 'saddr') return certain(addressPart(src.ip))
  if (field === 'daddr') return certain(addressPart(dst.ip))
  if (field === 'protocol') return certain(numberPart(protocolNumber(packet.protocol), 'protocol'))
  if (field === 'proto-dst') return ofPort(dst, 'proto-dst')
  if (field === 'proto-src') return ofPort(src, 'proto-src')
  return { unknown: `ct ${textOf(key)}` }
}

function ofPort({ port }: Endpoint, name: string): Evaluated {
  return port === undefined ? { unknown: `ct ${name}` } : certain(numberPart(port))
}

function replyOf({ connection: { original, dnat, snat } }: Evaluation['packet']) {
  return { src: dnat ?? original.dst, dst: snat ?? original.src }
}

function statusOf({ connection: { status, dnat, snat } }: Evaluation['packet']) {
  const isOld = status === 'established'
  return new Set([
    ...(dnat === undefined ? [] : ['dnat']),
    ...(snat === undefined ? [] : ['snat']),
    ...(isOld ? ['seen-reply', 'confirmed', 'assured'] : []),
  ])
}

/** `fib`: the type of an address by the routing tables. */
function fib({ result, flags }: JsonObject, { packet, facts }: Evaluation): Evaluated {
  const list = isList(flags) ? flags.map(textOf) : [textOf(flags)]
  if (result !== 'type') return { unknown: `fib ${list.join(' . ')} ${textOf(result)}` }
  const ip: IpAddress = list.includes('saddr') ? packet.src : packet.dst
  const on = list.includes('iif')
    ? packet.inInterface
    : list.includes('oif')
      ? packet.outInterface
      : undefined
  const type = facts.addressType(ip, on)
  return certain(textPart(type === 'unspecified' ? 'unspec' : type))
}

function unknown(protocol: Json | undefined, field: Json | undefined): Evaluated {
  return { unknown: `the field ${textOf(protocol)} ${textOf(field)}` }
}
