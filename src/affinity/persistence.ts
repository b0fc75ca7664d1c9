import type { ForwardingEntry } from '../forwarding/entry.ts'

/** Affinity as IPVS persistence: its timeout, and the prefix length that identifies a client. */
export interface Persistence {
  readonly seconds: number
  readonly prefix: number
}

/**
 * The prefix is the whole address, so that clients of one subnet do not share a template. Undefined without affinity.
 */
export function persistenceOf({ affinity, family }: ForwardingEntry): Persistence | undefined {
  return affinity && { seconds: affinity.seconds, prefix: family === 4 ? 32 : 128 }
}
