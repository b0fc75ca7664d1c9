import { existsSync } from 'node:fs'

/** Whether ip_vs is at work in this kernel. Asking ip_vs itself would load its module. */
export function hasIpvs(): boolean {
  return existsSync('/proc/net/ip_vs')
}
