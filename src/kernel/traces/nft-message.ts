import type { Family } from '../../lib/ip.ts'
import { encodeAttribute } from '../netlink/attribute.ts'
import type { OutgoingMessage } from '../netlink/message.ts'
import type { ChainPlace } from './traces.ts'

/** linux/netfilter/nfnetlink.h and nf_tables.h. */
const NFNL_SUBSYS_NFTABLES = 10
const NFT_MSG_GETTABLE = 1
const NFT_MSG_GETCHAIN = 4
const NFPROTO = { 4: 2, 6: 10 } as const
const NFTA_TABLE_NAME = 1
const NFTA_CHAIN_TABLE = 1
const NFTA_CHAIN_NAME = 3

/** Asks for one table by name. */
export function encodeGetTable(family: Family, name: string): OutgoingMessage {
  return request(NFT_MSG_GETTABLE, family, [text(NFTA_TABLE_NAME, name)])
}

/** Asks for one chain by name: iptables-nft keeps its chains in tables of the same names. */
export function encodeGetChain({ family, table, chain }: ChainPlace): OutgoingMessage {
  const names = [text(NFTA_CHAIN_TABLE, table), text(NFTA_CHAIN_NAME, chain)]
  return request(NFT_MSG_GETCHAIN, family, names)
}

function request(message: number, family: Family, attributes: readonly Buffer[]): OutgoingMessage {
  const header = Buffer.from([NFPROTO[family], 0, 0, 0])
  return {
    type: (NFNL_SUBSYS_NFTABLES << 8) | message,
    flags: 0,
    payload: Buffer.concat([header, ...attributes]),
  }
}

function text(type: number, value: string): Buffer {
  return encodeAttribute(type, Buffer.from(`${value}\0`, 'latin1'))
}
