import type { Family } from '../../lib/ip.ts'

/** linux/socket.h. */
export const ADDRESS_FAMILY = { 4: 2, 6: 10 } as const

/** linux/netlink.h: make it, and refuse (EEXIST) what is there already. */
export const NLM_F_EXCL = 0x200
export const NLM_F_CREATE = 0x400

/**
 * The origin that our rules and routes carry (`ip rule` and `ip route` show
 * `proto 110`). The kernel's own are below 5, and /etc/iproute2/rt_protos gives
 * this number to nobody.
 */
export const OUR_PROTOCOL = 110

export function familyOfNumber(number: number | undefined): Family | undefined {
  if (number === ADDRESS_FAMILY[4]) return 4
  return number === ADDRESS_FAMILY[6] ? 6 : undefined
}

/** A number of 32 bits in the host's byte order. */
export function host32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
