import {
  type IpvsProtocol,
  type VirtualServerId,
  virtualServerKey,
} from '../../../kernel/ipvs/ipvs.ts'
import { type IpAddress, splitHostPort } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'

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
  return { ...of, protocol: protocol.toUpperCase() as IpvsProtocol, ...addressOf(name) }
}

/** The address of a name: `10.0.0.1:80` or `[fd00::1]:80`. */
export function addressOf(name: string): { readonly ip: IpAddress; readonly port: number } {
  const { host = '', port } = splitHostPort(name) ?? {}
  return { ip: host as IpAddress, port: Number(port) }
}
