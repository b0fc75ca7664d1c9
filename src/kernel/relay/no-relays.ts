import type { Relays } from './relays.ts'

/** Of a process that only reads the kernel: it listens nowhere. */
export const noRelays: Relays = {
  open: async () => undefined,
  close: async () => {},
  list: () => [],
  connections: () => 0,
  closeAll: async () => {},
}
