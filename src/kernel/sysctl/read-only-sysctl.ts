import type { Sysctl } from './sysctl.ts'

/** The same settings; a write is accepted, and changes nothing. */
export function readOnlySysctl(sysctl: Sysctl): Sysctl {
  return { read: (path) => sysctl.read(path), ensure: () => false }
}
