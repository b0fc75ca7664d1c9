import type { Sysctl } from './sysctl.ts'

/** The same settings, none of which is changed. */
export function readOnlySysctl(sysctl: Sysctl): Sysctl {
  return { read: (path) => sysctl.read(path), ensure: () => false }
}
