import type { Family } from '../../lib/ip.ts'

/** linux/netfilter.h: the numbers of the IP families, equal to AF_INET and AF_INET6, and of both together. */
export const NFPROTO = { 4: 2, 6: 10, inet: 1 } as const

/** linux/netfilter/nfnetlink.h: the subsystem is the upper byte of a message type. */
export const NFNL_SUBSYS = { conntrack: 1, packetLog: 4, ipset: 6, nftables: 10 } as const

/** Bytes of `struct nfgenmsg`, which precedes the attributes of every message. */
export const NFGENMSG = 4

/** The type of a netfilter message: `NFT_MSG_GETGEN` of nf_tables is 0x0a10. */
export function nfMessageType(subsystem: keyof typeof NFNL_SUBSYS, message: number): number {
  return (NFNL_SUBSYS[subsystem] << 8) | message
}

/** `struct nfgenmsg`: the family, version 0 and no resource. */
export function nfHeader(family: Family | 'inet'): readonly number[] {
  return [NFPROTO[family], 0, 0, 0]
}

/** linux/netfilter/nf_tables.h: enum nf_tables_msg_types, those that are sent or read here. */
export const NFT_MSG = {
  newTable: 0,
  getTable: 1,
  deleteTable: 2,
  newChain: 3,
  getChain: 4,
  deleteChain: 5,
  newRule: 6,
  getRule: 7,
  deleteRule: 8,
  newSet: 9,
  getSet: 10,
  deleteSet: 11,
  newSetElement: 12,
  getSetElement: 13,
  deleteSetElement: 14,
  newGeneration: 15,
  getGeneration: 16,
} as const

/**
 * linux/netfilter/nf_tables.h: enum nft_table_attributes, nft_chain_attributes, nft_rule_attributes
 * and nft_gen_attributes. The table's name has the same number in messages about tables, chains and rules.
 */
export const NFTA = {
  table: 1,
  ruleChain: 2,
  chainName: 3,
  chainUse: 6,
  generationId: 1,
  generationPid: 2,
  generationProcess: 3,
} as const

/** Multicast group of nf_tables notifications (linux/netfilter/nfnetlink.h). */
export const NFNLGRP_NFTABLES = 7
