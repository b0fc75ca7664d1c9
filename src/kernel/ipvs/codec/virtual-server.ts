import { ADDRESS_FAMILY, familyOfNumber } from '../../netlink/address-family.ts'
import { findAttribute, findPort, findU16, findU32 } from '../../netlink/attribute.ts'
import type { AttributeWriter } from '../../netlink/attribute-writer.ts'
import type {
  IpvsProtocol,
  VirtualServer,
  VirtualServerId,
  VirtualServerSettings,
} from '../ipvs.ts'
import { decodeAddress, writeAddress } from './address.ts'
import { decodeCounters } from './counters.ts'
import { CMD_ATTR } from './family.ts'
import { decodeSettings, writeSettings } from './settings.ts'

/** linux/ip_vs.h: enum IPVS_SVC_ATTR_*. */
const FAMILY = 1
const PROTOCOL = 2
const ADDRESS = 3
const PORT = 4
const MARK = 5

/** IPPROTO_*. */
const PROTOCOLS: Readonly<Record<IpvsProtocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 }
const NAMES: Readonly<Record<number, IpvsProtocol>> = { 6: 'TCP', 17: 'UDP', 132: 'SCTP' }

/** Writes the attributes that identify a virtual server. */
export function writeServiceId(writer: AttributeWriter, id: VirtualServerId): void {
  writer.u16(FAMILY, ADDRESS_FAMILY[id.family])
  if ('mark' in id) {
    writer.u32(MARK, id.mark)
    return
  }
  writer.u16(PROTOCOL, PROTOCOLS[id.protocol])
  writeAddress(writer, ADDRESS, id.ip)
  writer.port(PORT, id.port)
}

/** Undefined: the family or protocol is unknown, or attributes are missing. */
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

/** linux/ip_vs.h: enum IPVS_SVC_ATTR_*. */
const STATS = 10
const STATS64 = 12

/** The nested attribute that names a virtual server or, with settings, describes it. */
export function writeService(
  writer: AttributeWriter,
  id: VirtualServerId,
  settings?: VirtualServerSettings,
): void {
  writer.nest(CMD_ATTR.service, (service) => {
    writeServiceId(service, id)
    if (settings !== undefined) writeSettings(service, id.family, settings)
  })
}

/** Undefined: its identity is unknown, or attributes are missing. */
export function decodeService(service: Buffer): VirtualServer | undefined {
  const id = decodeServiceId(service)
  const settings = id && decodeSettings(id.family, service)
  if (id === undefined || settings === undefined) return undefined
  const statistics = findAttribute(service, STATS64) ?? findAttribute(service, STATS)
  return { id, settings, counters: decodeCounters(statistics) }
}
