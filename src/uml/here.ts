import { readFileSync } from 'node:fs'

/** Whether this process runs in User-mode Linux itself. */
export function isUserModeLinux(): boolean {
  return /^vendor_id\s*: User Mode Linux$/m.test(readFileSync('/proc/cpuinfo', 'utf8'))
}
