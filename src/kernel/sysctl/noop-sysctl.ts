import type { Sysctl } from './sysctl.ts'

/** For a process that may not change the kernel: settings are neither read nor written. */
export const noopSysctl: Sysctl = {
  read: () => undefined,
  ensure: () => false,
}
