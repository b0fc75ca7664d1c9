import type { Family } from '../../lib/ip.ts'

/** linux/netfilter.h: the numbers of the IP families, equal to AF_INET and AF_INET6. */
export const NFPROTO = { 4: 2, 6: 10 } as const

/** linux/netfilter/nfnetlink.h: the subsystem is the upper byte of a message type. */
export const NFNL_SUBSYS = { conntrack: 1, ipset: 6, nftables: 10 } as const

/** Bytes of `struct nfgenmsg`, which precedes the attributes of every message. */
export const NFGENMSG = 4

/** The type of a netfilter message: `NFT_MSG_GETGEN` of nf_tables is 0x0a10. */
export function nfMessageType(subsystem: keyof typeof NFNL_SUBSYS, message: number): number {
  return (NFNL_SUBSYS[subsystem] << 8) | message
}

/** `struct nfgenmsg`: the family, version 0 and no resource. */
export function nfHeader(family: Family): readonly number[] {
  return [NFPROTO[family], 0, 0, 0]
}
