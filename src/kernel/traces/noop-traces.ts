import type { Traces } from './traces.ts'

/** For a process that may not search. */
export const noopTraces: Traces = {
  variantsWith: async () => [],
  hasNftTable: async () => false,
  devices: async () => new Set(),
  processes: async () => [],
  close: () => {},
}
