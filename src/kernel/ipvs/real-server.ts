import { type Family, familyOf } from '../../lib/ip.ts'
import { findAttribute, findPort, findU16, findU32 } from '../netlink/attribute.ts'
import type { AttributeWriter } from '../netlink/attribute-writer.ts'
import { ADDRESS_FAMILY, familyOfNumber } from '../netlink/message.ts'
import type { Forwarding, RealServer, RealServerId, RealServerState } from './ipvs.ts'
import { CMD_ATTR, decodeAddress, decodeCounters, writeAddress } from './wire.ts'

/** linux/ip_vs.h: enum IPVS_DEST_ATTR_*. */
const ADDRESS = 1
const PORT = 2
const FORWARDING = 3
const WEIGHT = 4
const UPPER = 5
const LOWER = 6
const ACTIVE = 7
const INACTIVE = 8
const PERSISTENT = 9
const STATS = 10
const FAMILY = 11
const STATS64 = 12

/** IP_VS_CONN_F_MASQ, …, in the order of their numbers. */
const FORWARDINGS: readonly Forwarding[] = ['masquerade', 'local', 'tunnel', 'route', 'bypass']

/** The nested attribute that names a real server. */
export function writeServerId(writer: AttributeWriter, id: RealServerId): void {
  writer.nest(CMD_ATTR.server, (server) => writeIdentity(server, id))
}

/** The nested attribute that describes a real server. */
export function writeServer(writer: AttributeWriter, server: RealServer): void {
  writer.nest(CMD_ATTR.server, (nested) => {
    writeIdentity(nested, server)
    nested
      .u32(FORWARDING, FORWARDINGS.indexOf(server.forwarding))
      .u32(WEIGHT, server.weight)
      .u32(UPPER, server.upperThreshold)
      .u32(LOWER, server.lowerThreshold)
  })
}

/** Undefined if damaged. A kernel before 3.18 sends no family: it is that of the virtual server. */
export function decodeServerId(server: Buffer, serviceFamily: Family): RealServerId | undefined {
  const family = familyOfNumber(findU16(server, FAMILY)) ?? serviceFamily
  const ip = decodeAddress(findAttribute(server, ADDRESS), family)
  const port = findPort(server, PORT)
  return ip === undefined || port === undefined ? undefined : { ip, port }
}

/** Undefined if the forwarding method is unknown, or attributes are missing. */
export function decodeServer(server: Buffer, serviceFamily: Family): RealServerState | undefined {
  const id = decodeServerId(server, serviceFamily)
  const forwarding = FORWARDINGS[findU32(server, FORWARDING) ?? -1]
  if (id === undefined || forwarding === undefined) return undefined
  const number = (type: number) => findU32(server, type) ?? 0
  return {
    ...id,
    weight: number(WEIGHT),
    forwarding,
    upperThreshold: number(UPPER),
    lowerThreshold: number(LOWER),
    activeConnections: number(ACTIVE),
    inactiveConnections: number(INACTIVE),
    persistentConnections: number(PERSISTENT),
    counters: decodeCounters(findAttribute(server, STATS64) ?? findAttribute(server, STATS)),
  }
}

/** Kernels before 3.18 ignore the family: they take that of the virtual server. */
function writeIdentity(writer: AttributeWriter, { ip, port }: RealServerId): void {
  writer.u16(FAMILY, ADDRESS_FAMILY[familyOf(ip)])
  writeAddress(writer, ADDRESS, ip)
  writer.be16(PORT, port)
}
