import type { Conntrack } from './conntrack.ts'

/** Where this process may not touch tracked flows: none is cut. */
export const noopConntrack: Conntrack = {
  cut: async () => ({ deleted: 0 }),
  count: async () => 0,
  cutTranslatedTo: async () => {},
}
