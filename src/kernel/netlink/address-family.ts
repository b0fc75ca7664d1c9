import type { Family } from '../../lib/ip.ts'

/** linux/socket.h: AF_INET and AF_INET6. */
export const ADDRESS_FAMILY = { 4: 2, 6: 10 } as const

/** Undefined if it is neither IPv4 nor IPv6. */
export function familyOfNumber(number: number | undefined): Family | undefined {
  if (number === ADDRESS_FAMILY[4]) return 4
  return number === ADDRESS_FAMILY[6] ? 6 : undefined
}
