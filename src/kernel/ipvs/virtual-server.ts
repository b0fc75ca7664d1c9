import type { Family } from '../../lib/ip.ts'
import { attributeText, findAttribute, findPort, findU16, findU32 } from '../netlink/attribute.ts'
import type { AttributeWriter } from '../netlink/attribute-writer.ts'
import { ADDRESS_FAMILY, familyOfNumber } from '../netlink/message.ts'
import type {
  IpvsProtocol,
  SchedulerFlag,
  VirtualServer,
  VirtualServerId,
  VirtualServerSettings,
} from './ipvs.ts'
import { CMD_ATTR, decodeAddress, decodeCounters, writeAddress } from './wire.ts'

/** linux/ip_vs.h: enum IPVS_SVC_ATTR_*. */
const FAMILY = 1
const PROTOCOL = 2
const ADDRESS = 3
const PORT = 4
const MARK = 5
const SCHEDULER = 6
const FLAGS = 7
const TIMEOUT = 8
const NETMASK = 9
const STATS = 10
const STATS64 = 12

/** IP_VS_SVC_F_*. The kernel adds IP_VS_SVC_F_HASHED (2) by itself. */
const PERSISTENT = 1
const FLAG_BITS: readonly (readonly [SchedulerFlag, number])[] = [
  ['onePacket', 4],
  ['fallback', 8],
  ['sourcePort', 0x10],
  ['schedulerFlag3', 0x20],
]
const ADDRESS_BITS = { 4: 32, 6: 128 } as const

/** IPPROTO_*. */
const PROTOCOLS: Readonly<Record<IpvsProtocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 }
const PROTOCOL_NAMES: Readonly<Record<number, IpvsProtocol>> = { 6: 'TCP', 17: 'UDP', 132: 'SCTP' }

/** Writes the attributes that identify a virtual server. */
export function writeServiceId(writer: AttributeWriter, id: VirtualServerId): void {
  writer.u16(FAMILY, ADDRESS_FAMILY[id.family])
  if ('mark' in id) {
    writer.u32(MARK, id.mark)
    return
  }
  writer.u16(PROTOCOL, PROTOCOLS[id.protocol])
  writeAddress(writer, ADDRESS, id.ip)
  writer.be16(PORT, id.port)
}

/** Undefined if the family or protocol is unknown, or attributes are missing. */
export function decodeServiceId(service: Buffer): VirtualServerId | undefined {
  const family = familyOfNumber(findU16(service, FAMILY))
  if (family === undefined) return undefined
  const mark = findU32(service, MARK)
  if (mark !== undefined) return { family, mark }
  const protocol = PROTOCOL_NAMES[findU16(service, PROTOCOL) ?? 0]
  const ip = decodeAddress(findAttribute(service, ADDRESS), family)
  const port = findPort(service, PORT)
  if (protocol === undefined || ip === undefined || port === undefined) return undefined
  return { family, protocol, ip, port }
}

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

/** Undefined if its identity is unknown, or attributes are missing. */
export function decodeService(service: Buffer): VirtualServer | undefined {
  const id = decodeServiceId(service)
  const settings = id && decodeSettings(id.family, service)
  if (id === undefined || settings === undefined) return undefined
  const statistics = findAttribute(service, STATS64) ?? findAttribute(service, STATS)
  return { id, settings, counters: decodeCounters(statistics) }
}

type Persistence = VirtualServerSettings['persistence']

/** Writes scheduler, flags and persistence of a virtual server. */
function writeSettings(
  writer: AttributeWriter,
  family: Family,
  { scheduler, flags, persistence }: VirtualServerSettings,
): void {
  writer
    .text(SCHEDULER, scheduler)
    .bytes(FLAGS, encodeFlags(flags, persistence))
    .u32(TIMEOUT, persistence?.seconds ?? 0)
    .bytes(NETMASK, encodeNetmask(family, persistence?.prefix ?? ADDRESS_BITS[family]))
}

/** The settings in the attributes of a virtual server; undefined if they are incomplete. */
export function decodeSettings(family: Family, service: Buffer): VirtualServerSettings | undefined {
  const scheduler = findAttribute(service, SCHEDULER)
  const flags = findAttribute(service, FLAGS)
  const seconds = findU32(service, TIMEOUT)
  const netmask = findAttribute(service, NETMASK)
  if (flags?.length !== 8 || netmask?.length !== 4 || seconds === undefined) return undefined
  const bits = flags.readUInt32LE()
  const persistent = (bits & PERSISTENT) !== 0
  return {
    // A virtual server may have no scheduler (`ipvsadm -s none`); the kernel then sends no name.
    scheduler: scheduler === undefined ? 'none' : attributeText(scheduler),
    flags: FLAG_BITS.filter(([, bit]) => (bits & bit) !== 0).map(([flag]) => flag),
    persistence: persistent ? { seconds, prefix: decodeNetmask(family, netmask) } : undefined,
  }
}

/** struct ip_vs_flags: the flags, and a mask of the flags to set, which is all of them. */
function encodeFlags(flags: readonly SchedulerFlag[], persistence: Persistence): Buffer {
  const set = FLAG_BITS.filter(([flag]) => flags.includes(flag)).map(([, bit]) => bit)
  if (persistence !== undefined) set.push(PERSISTENT)
  const bytes = Buffer.alloc(8, 0xff)
  bytes.writeUInt32LE(set.reduce((bits, bit) => bits | bit, 0))
  return bytes
}

/** IPv4: the mask in network order. IPv6: the length of the prefix in host order. */
function encodeNetmask(family: Family, prefix: number): Buffer {
  const bytes = Buffer.alloc(4)
  if (family === 6) bytes.writeUInt32LE(prefix)
  else bytes.writeUInt32BE(prefix === 0 ? 0 : (0xffff_ffff << (32 - prefix)) >>> 0)
  return bytes
}

/** The length of the prefix; a mask with gaps counts up to its first gap. */
function decodeNetmask(family: Family, netmask: Buffer): number {
  return family === 6 ? netmask.readUInt32LE() : Math.clz32(~netmask.readUInt32BE())
}
