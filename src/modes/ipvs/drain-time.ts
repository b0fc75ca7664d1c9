import type { ObjectKey } from '../mode.ts'
import { serverIdOf } from './object.ts'
import type { IpvsSettings } from './settings.ts'
import { markPattern, protocolOf } from './short-circuit-mark.ts'

/** How long backends that left a virtual server may keep their connections, in milliseconds. */
export function drainMillis(key: ObjectKey, { drain, netfilter }: IpvsSettings): number {
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
