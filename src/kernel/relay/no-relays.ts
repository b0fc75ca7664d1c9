import type { Relays } from './relays.ts'

/** For a process that only reads the kernel: no relay listens. */
export const noRelays: Relays = {
  open: async () => undefined,
  close: async () => {},
  list: () => [],
  connections: () => 0,
  closeAll: async () => {},
}
