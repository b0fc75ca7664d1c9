import {
  type IpvsProtocol,
  type VirtualServerId,
  virtualServerKey,
} from '../../../kernel/ipvs/ipvs.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import { kindOf as wordOf } from '../../netfilter/object-key.ts'

/**
 * What this mode makes: virtual servers (`vs/4/tcp/10.96.0.1:80`), relays (`relay/tcp/30080`),
 * and what `../netfilter/object-key.ts` has keys for.
 */
export type Kind = 'vs' | 'set' | 'member' | 'route' | 'relay' | 'rule'

/** What kind of object a key names: its first word. */
export function kindOf(key: ObjectKey): Kind {
  return wordOf(key) as Kind
}

/** `vs/4/tcp/10.96.0.1:80`, `vs/6/tcp/[fd00::1]:80` or `vs/4/mark/2751463428`. */
export function serverKey(id: VirtualServerId): ObjectKey {
  return `vs/${virtualServerKey(id)}` as ObjectKey
}

/** `relay/tcp/30080`: the relay that listens at this port of 127.0.0.1. */
export function relayKey(protocol: 'TCP' | 'UDP', port: number): ObjectKey {
  return `relay/${protocol.toLowerCase()}/${port}` as ObjectKey
}

/** Whether a `vs` key names a virtual server by its mark instead of an address. */
export function isMarked(key: ObjectKey): boolean {
  return key.startsWith('mark/', 'vs/4/'.length)
}

/** The virtual server that a `vs` key names; the inverse of `serverKey`. */
export function serverIdOf(key: ObjectKey): VirtualServerId {
  const [, family, protocol = '', name = ''] = /^vs\/([46])\/(\w+)\/(.+)$/.exec(key) ?? []
  const of = { family: family === '6' ? 6 : 4 } as const
  if (protocol === 'mark') return { ...of, mark: Number(name) }
  const [, six, four, port] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(name) ?? []
  const ip = (six ?? four ?? '') as IpAddress
  return { ...of, protocol: protocol.toUpperCase() as IpvsProtocol, ip, port: Number(port) }
}
