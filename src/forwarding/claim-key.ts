import type { Brand } from '../lib/brand.ts'
import type { ForwardingEntry, Frontend } from './entry.ts'

/** A protocol, family, address and port, which one entry at most may hold: `TCP/4/10.0.0.1:80`, `UDP/6/node:30053`. */
export type ClaimKey = Brand<string, 'ClaimKey'>

/** The key of one frontend of an entry. */
export function claimKey(
  { protocol, family }: Pick<ForwardingEntry, 'protocol' | 'family'>,
  { ip, port }: Pick<Frontend, 'ip' | 'port'>,
): ClaimKey {
  return `${protocol}/${family}/${ip}:${port}` as ClaimKey
}
