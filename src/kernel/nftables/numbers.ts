import type { ConntrackKey, MetaKey, PayloadBase, Register } from './expression.ts'

/** Numbers of linux/netfilter/nf_tables.h that expressions carry. */

/** enum nft_meta_keys. */
export const META: Readonly<Record<MetaKey, number>> = {
  mark: 3,
  iifname: 6,
  oifname: 7,
  nfproto: 15,
  l4proto: 16,
}

/** enum nft_payload_bases. */
export const BASE: Readonly<Record<PayloadBase, number>> = { network: 1, transport: 2 }

/** enum nft_ct_keys; addresses have a number for each family. */
export const CONNTRACK: Readonly<
  Record<Exclude<ConntrackKey, 'saddr' | 'daddr'>, number> &
    Record<'saddr' | 'daddr', Record<4 | 6, number>>
> = {
  state: 0,
  direction: 1,
  status: 2,
  mark: 3,
  protoSource: 11,
  protoDestination: 12,
  saddr: { 4: 19, 6: 21 },
  daddr: { 4: 20, 6: 22 },
}

/** enum ip_conntrack_dir. */
export const DIRECTION = { original: 0, reply: 1 } as const

/** enum nft_fib_result; NFTA_FIB_F_SADDR, …_DADDR. */
export const FIB_RESULT = { oif: 1, type: 3 } as const
export const FIB_OF = { saddr: 1, daddr: 2 } as const

/** enum nft_cmp_ops. */
export const COMPARE = { equal: 0, different: 1 } as const

/** enum nft_dynset_ops. */
export const DYNAMIC = { add: 0, update: 1, delete: 2 } as const

/** enum nft_nat_types. */
export const NAT = { source: 0, destination: 1 } as const

/** NF_NAT_RANGE_PROTO_RANDOM_FULLY. */
export const FULLY_RANDOM = 0x10

/** NFT_NG_RANDOM. */
export const RANDOM = 1

/** NFT_LOOKUP_F_INV, NFT_LIMIT_F_INV. */
export const INVERTED = 1

/** NFT_LIMIT_PKTS; the unit of its rate. */
export const LIMITS_PACKETS = 0
export const ONE_SECOND = 1n

/** enum nft_reject_types; ICMP_PORT_UNREACH and ICMPV6_PORT_UNREACH. */
export const REJECT = { unreachable: 0, tcpReset: 1 } as const
export const PORT_UNREACHABLE = { 4: 3, 6: 4 } as const

/** Verdicts of linux/netfilter.h (NF_…) and enum nft_verdicts. */
export const VERDICT_CODE = {
  drop: 0,
  accept: 1,
  continue: -1,
  jump: -3,
  goto: -4,
  return: -5,
} as const

/**
 * The 4-byte register of a number of the kernel. Where one of the four 16-byte registers begins, the kernel uses the number of
 * that: 1 to 4.
 */
export function registerOf(number: number): Register {
  return number > 0 && number < 5 ? 8 + (number - 1) * 4 : number
}

/** The key of a table by its value. */
export function keyOf<K extends string>(
  table: Readonly<Record<K, unknown>>,
  value: unknown,
): K | undefined {
  return (Object.keys(table) as K[]).find((key) => table[key] === value)
}
