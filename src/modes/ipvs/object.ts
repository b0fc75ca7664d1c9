import {
  type IpvsProtocol,
  type VirtualServerId,
  virtualServerKey,
} from '../../kernel/ipvs/ipvs.ts'
import type { Family, IpAddress } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'

/**
 * Keys of what this mode makes besides chains and jumps, whose keys begin with
 * their family: `vs/4/tcp/10.96.0.1:80`, `set/NPVS-4-SERVICES`,
 * `member/NPVS-4-SERVICES/10.96.0.1,tcp:80`, `route/4`, `relay/tcp/30080`.
 */
export type Kind = 'vs' | 'set' | 'member' | 'route' | 'relay' | 'rule'

export function kindOf(key: ObjectKey): Kind {
  const kind = key.slice(0, key.indexOf('/'))
  return kind === '4' || kind === '6' ? 'rule' : (kind as Kind)
}

/** Those of one kind or several, in their order. */
export function ofKind(
  keys: readonly ObjectKey[],
  ...kinds: readonly Kind[]
): readonly ObjectKey[] {
  return keys.filter((key) => kinds.includes(kindOf(key)))
}

export function serverKey(id: VirtualServerId): ObjectKey {
  return `vs/${virtualServerKey(id)}` as ObjectKey
}

export function setKey(name: string): ObjectKey {
  return `set/${name}` as ObjectKey
}

export function memberKey(set: string, member: string): ObjectKey {
  return `member/${set}/${member}` as ObjectKey
}

export function routeKey(family: Family): ObjectKey {
  return `route/${family}` as ObjectKey
}

export function relayKey(protocol: 'TCP' | 'UDP', port: number): ObjectKey {
  return `relay/${protocol.toLowerCase()}/${port}` as ObjectKey
}

/** The part after the kind: a set's name, a virtual server's key. */
export function nameOf(key: ObjectKey): string {
  return key.slice(key.indexOf('/') + 1)
}

/** The set and the member that a `member` key names. */
export function memberOf(key: ObjectKey): { readonly set: string; readonly member: string } {
  const [, set = '', member = ''] = /^member\/([^/]+)\/(.+)$/.exec(key) ?? []
  return { set, member }
}

/** Whether a `vs` key names a virtual server by its mark and not by an address. */
export function isMarked(key: ObjectKey): boolean {
  return key.startsWith('mark/', 'vs/4/'.length)
}

/** The virtual server that a `vs` key names. */
export function serverIdOf(key: ObjectKey): VirtualServerId {
  const [, family, protocol = '', name = ''] = /^vs\/([46])\/(\w+)\/(.+)$/.exec(key) ?? []
  const of = { family: family === '6' ? 6 : 4 } as const
  if (protocol === 'mark') return { ...of, mark: Number(name) }
  const [, six, four, port] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(name) ?? []
  const ip = (six ?? four ?? '') as IpAddress
  return { ...of, protocol: protocol.toUpperCase() as IpvsProtocol, ip, port: Number(port) }
}
