import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { attributeText, findAttribute } from '../netlink/attribute.ts'
import { AttributeWriter } from '../netlink/attribute-writer.ts'
import {
  decodeMessages,
  familyOfNumber,
  type NetlinkMessage,
  type OutgoingMessage,
} from '../netlink/message.ts'
import { NFGENMSG, nfMessageType } from '../netlink/nfnetlink.ts'
import { NetlinkSession } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import type { LoggedPacket, OpenPacketLog } from './packet-log.ts'

/** linux/netfilter/nfnetlink_log.h: enum nfulnl_msg_types. */
const PACKET = nfMessageType('packetLog', 0)
const CONFIG = nfMessageType('packetLog', 1)

/** NFULA_CFG_CMD with NFULNL_CFG_CMD_BIND; NFULA_CFG_MODE with NFULNL_COPY_PACKET. */
const [CFG_CMD, CFG_MODE] = [1, 2]
const [BIND, COPY_PACKET] = [1, 2]

/** NFULA_PAYLOAD, NFULA_PREFIX. */
const [PAYLOAD, PREFIX] = [9, 10]

/** Enough for the headers of IP, with some extensions, and the ports behind them. */
const COPIED_BYTES = 128

/** Opens logs by nfnetlink_log. The kernel collects packets for up to a second, and sends several at once. */
export function netlinkPacketLog(open: OpenTransport, clock: Clock, group: number): OpenPacketLog {
  return async (handlers) => {
    const session = new NetlinkSession(
      (answers) =>
        open({
          onDatagram(bytes) {
            for (const message of decodeMessages(bytes)) {
              const packet = decodeLogged(message)
              if (packet) handlers.onPacket(packet)
            }
            answers.onDatagram(bytes)
          },
          onOverrun() {
            handlers.onLost()
            answers.onOverrun()
          },
        }),
      clock,
    )
    try {
      const { refusals } = await session.transact(encodeLogConfig(group, COPIED_BYTES))
      const [refusal] = refusals.values()
      if (refusal) throw refused(group, refusal.errno)
    } catch (error) {
      session.close()
      throw error
    }
    return () => session.close()
  }
}

function refused(group: number, errno: number): NodeProxyError {
  const isTaken = errno === constants.errno.EBUSY || errno === constants.errno.EPERM
  const hint = isTaken
    ? 'another program reads this group, or CAP_NET_ADMIN is missing'
    : 'load the kernel module: modprobe nfnetlink_log'
  const message = `group ${group} of nfnetlink_log cannot be read: ${getSystemErrorName(-errno)}`
  return new NodeProxyError('NP_KERNEL_NETLINK', message, { hint })
}

/** The requests of a socket that reads a group: to bind it, and to send so many bytes of each packet. */
function encodeLogConfig(group: number, bytes: number): readonly OutgoingMessage[] {
  const message = (attributes: (to: AttributeWriter) => void): OutgoingMessage => {
    // struct nfgenmsg: no family, version 0, the group in network byte order.
    const to = new AttributeWriter().header(0, 0, group >> 8, group & 0xff)
    attributes(to)
    return { type: CONFIG, flags: 0, payload: to.written() }
  }
  const mode = Buffer.alloc(6)
  mode.writeUInt32BE(bytes)
  mode.writeUInt8(COPY_PACKET, 4)
  return [message((to) => to.u8(CFG_CMD, BIND)), message((to) => to.bytes(CFG_MODE, mode))]
}

/** Undefined for a message that is no packet of an IP family with a prefix. The payload is a view. */
function decodeLogged({ type, payload: bytes }: NetlinkMessage): LoggedPacket | undefined {
  if (type !== PACKET || bytes.length < NFGENMSG) return undefined
  const family = familyOfNumber(bytes[0])
  const prefix = findAttribute(bytes, PREFIX, NFGENMSG)
  const payload = findAttribute(bytes, PAYLOAD, NFGENMSG)
  if (family === undefined || prefix === undefined || payload === undefined) return undefined
  return { family, prefix: attributeText(prefix), payload }
}
