import { type IpAddress, parseIp, splitHostPort } from '../lib/ip.ts'

/** One end of a connection as an operator writes it. */
export type WrittenEnd =
  /** As a source: a process of this node, whose address the kernel chooses; as a destination: one of its node ports. */
  | { readonly kind: 'node'; readonly port: number | undefined }
  | { readonly kind: 'address'; readonly ip: IpAddress; readonly port: number | undefined }
  /** `namespace/name` or `namespace/name:port`. */
  | { readonly kind: 'service'; readonly service: string }

/**
 * `10.0.0.1`, `10.0.0.1:80`, `fd00::1`, `[fd00::1]:80`, `node`, `node:30080`, `shop/web:http`; undefined for anything
 * else.
 */
export function parseEnd(text: string): WrittenEnd | undefined {
  const { host = '', port: digits } = splitHostPort(text) ?? {}
  const ip = parseIp(host)
  const port = digits === undefined ? undefined : Number(digits)
  if (ip !== undefined || host === 'node') {
    if (port !== undefined && (port < 1 || port > 65_535)) return undefined
    return ip === undefined ? { kind: 'node', port } : { kind: 'address', ip, port }
  }
  const isService = /^[a-z0-9][a-z0-9.-]*\/[a-z0-9][a-z0-9.-]*(:[a-z0-9-]+)?$/.test(text)
  return isService ? { kind: 'service', service: text } : undefined
}
