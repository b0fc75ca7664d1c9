import { findAttribute, findPort, findU16, findU32 } from '../../netlink/attribute.ts'
import type { AttributeWriter } from '../../netlink/attribute-writer.ts'
import type { IpvsProtocol, VirtualServerId } from '../ipvs.ts'
import { addressFamily, decodeAddress, familyOfNumber, writeAddress } from './address.ts'

/** linux/ip_vs.h: enum IPVS_SVC_ATTR_*. */
const FAMILY = 1
const PROTOCOL = 2
const ADDRESS = 3
const PORT = 4
const MARK = 5

/** IPPROTO_*. */
const PROTOCOLS: Readonly<Record<IpvsProtocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 }
const NAMES: Readonly<Record<number, IpvsProtocol>> = { 6: 'TCP', 17: 'UDP', 132: 'SCTP' }

export function writeServiceId(writer: AttributeWriter, id: VirtualServerId): void {
  writer.u16(FAMILY, addressFamily(id.family))
  if ('mark' in id) {
    writer.u32(MARK, id.mark)
    return
  }
  writer.u16(PROTOCOL, PROTOCOLS[id.protocol])
  writeAddress(writer, ADDRESS, id.ip)
  writer.port(PORT, id.port)
}

/** Undefined: of a family or protocol that we do not know, or damaged. */
export function decodeServiceId(service: Buffer): VirtualServerId | undefined {
  const family = familyOfNumber(findU16(service, FAMILY))
  if (family === undefined) return undefined
  const mark = findU32(service, MARK)
  if (mark !== undefined) return { family, mark }
  const protocol = NAMES[findU16(service, PROTOCOL) ?? 0]
  const ip = decodeAddress(findAttribute(service, ADDRESS), family)
  const port = findPort(service, PORT)
  if (protocol === undefined || ip === undefined || port === undefined) return undefined
  return { family, protocol, ip, port }
}
