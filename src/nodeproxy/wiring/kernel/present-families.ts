import { existsSync } from 'node:fs'
import type { Family } from '../../../lib/ip.ts'

/** IPv4, and IPv6 if this kernel has it. */
export function presentFamilies(): readonly Family[] {
  return existsSync('/proc/net/if_inet6') ? [4, 6] : [4]
}
