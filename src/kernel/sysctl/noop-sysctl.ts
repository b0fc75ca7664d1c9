import type { Sysctl } from './sysctl.ts'

/** Where this process may not change the kernel: its settings are nobody's concern. */
export const untouchedSysctl: Sysctl = {
  read: () => undefined,
  ensure: () => false,
}
