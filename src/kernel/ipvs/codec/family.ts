import type { AttributeWriter } from '../../netlink/attribute-writer.ts'
import { type GenericRequest, genericRequest } from '../../netlink/generic.ts'

/** linux/ip_vs.h: the generic netlink family of ip_vs. */
export const IPVS_FAMILY = 'IPVS'
const VERSION = 1

/** First level attributes of a command. */
export const CMD_ATTR = {
  service: 1,
  server: 2,
  timeoutTcp: 4,
  timeoutTcpFin: 5,
  timeoutUdp: 6,
} as const

/** The numbers of the commands in messages. */
export const COMMAND = {
  newService: 1,
  setService: 2,
  deleteService: 3,
  getService: 4,
  newServer: 5,
  setServer: 6,
  deleteServer: 7,
  getServer: 8,
  setConfig: 12,
  getConfig: 13,
  setInfo: 14,
  getInfo: 15,
  zero: 16,
  flush: 17,
} as const

/** A command with its attributes. */
export function ipvsRequest(
  command: keyof typeof COMMAND,
  write: (attributes: AttributeWriter) => void = () => undefined,
): GenericRequest {
  return genericRequest({ command: COMMAND[command], version: VERSION }, write)
}
