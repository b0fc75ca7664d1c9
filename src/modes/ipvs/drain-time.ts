import type { ObjectKey } from '../mode.ts'
import { serverIdOf } from './objects/object.ts'
import { type MarkSettings, markPattern, protocolOf } from './objects/short-circuit-mark.ts'

/** How long removed backends keep the connections that they have, in seconds; 0: not at all. */
export interface DrainTimes {
  readonly tcp: number
  readonly udp: number
  readonly sctp: number
}

/** What the drain time of a virtual server depends on. */
export interface DrainSettings {
  readonly drain: DrainTimes
  /** Says which bits of a mark encode the protocol. */
  readonly netfilter: MarkSettings
}

/** The drain time of the backends that left one virtual server, in milliseconds. */
export function drainMillis(key: ObjectKey, { drain, netfilter }: DrainSettings): number {
  const id = serverIdOf(key)
  const protocol = 'mark' in id ? protocolOf(id.mark, markPattern(netfilter)) : id.protocol
  switch (protocol) {
    case 'TCP':
      return drain.tcp * 1_000
    case 'UDP':
      return drain.udp * 1_000
    case 'SCTP':
      return drain.sctp * 1_000
  }
}
