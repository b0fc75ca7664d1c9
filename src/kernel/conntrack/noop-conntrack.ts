import type { Conntrack } from './conntrack.ts'

/** For a process that may not change tracked flows: nothing is deleted. */
export const noopConntrack: Conntrack = {
  cut: async () => ({ deleted: 0 }),
  count: async () => 0,
  cutTranslatedTo: async () => {},
}
