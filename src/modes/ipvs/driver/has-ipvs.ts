import { existsSync } from 'node:fs'

/** Whether ip_vs is loaded in this kernel. A request to ip_vs itself would load its module. */
export function hasIpvs(): boolean {
  return existsSync('/proc/net/ip_vs')
}
