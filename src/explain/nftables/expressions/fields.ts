import type { IpAddress } from '../../../lib/ip.ts'
import type { Endpoint } from '../../packet/packet-state.ts'
import { isList, type Json, type JsonObject, textOf } from '../model/json.ts'
import { addressPart, numberPart, protocolNumber, textPart } from '../model/value.ts'
import { ABSENT, certain, type Evaluated, type Evaluation } from './evaluated.ts'

/** `payload`: a header field. Fields of another family or protocol are absent. */
export function payload({ protocol, field }: JsonObject, { packet }: Evaluation): Evaluated {
  const { family } = packet
  if (protocol === 'ip' || protocol === 'ip6') {
    return (protocol === 'ip') === (family === 4) ? ipHeader(textOf(field), packet) : ABSENT
  }
  const isTransport = protocol === 'th' || protocol === packet.protocol.toLowerCase()
  if (!['th', 'tcp', 'udp', 'sctp'].includes(textOf(protocol))) return unknown(protocol, field)
  if (!isTransport) return ABSENT
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

/** `meta`: what the kernel knows of the packet. */
export function meta({ key }: JsonObject, { packet, facts }: Evaluation): Evaluated {
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
    case 'pkttype':
      return certain(textPart(facts.addressType(packet.dst) === 'broadcast' ? 'broadcast' : 'host'))
    default:
      return { unknown: `meta ${textOf(key)}` }
  }
}

/** `ct`: what connection tracking knows; the packet is of the original direction. */
export function connection({ key, dir }: JsonObject, { packet }: Evaluation): Evaluated {
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
export function fib({ result, flags }: JsonObject, { packet, facts }: Evaluation): Evaluated {
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
