import type { ForwardingEntry } from '../forwarding/entry.ts'

/** Affinity in the words of IPVS: how long, and how many bits of an address make a client. */
export interface Persistence {
  readonly seconds: number
  readonly prefix: number
}

/** A client is a whole address, so that no two share a backend because they are neighbours. */
export function persistenceOf({ affinity, family }: ForwardingEntry): Persistence | undefined {
  return affinity && { seconds: affinity.seconds, prefix: family === 4 ? 32 : 128 }
}
