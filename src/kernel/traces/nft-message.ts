import type { Family } from '../../lib/ip.ts'
import { encodeAttribute } from '../netlink/attribute.ts'
import type { OutgoingMessage } from '../netlink/message.ts'
import { NFT_MSG, NFTA } from '../netlink/nf-tables.ts'
import { nfHeader, nfMessageType } from '../netlink/nfnetlink.ts'
import type { ChainId } from './traces.ts'

/** NFT_MSG_GETTABLE of one table by name; ENOENT if it does not exist. */
export function encodeGetTable(family: Family, name: string): OutgoingMessage {
  return request(NFT_MSG.getTable, family, [text(NFTA.table, name)])
}

/**
 * NFT_MSG_GETCHAIN of one chain by name; ENOENT if it does not exist. iptables-nft keeps its chains in tables of the
 * same names.
 */
export function encodeGetChain({ family, table, chain }: ChainId): OutgoingMessage {
  const names = [text(NFTA.table, table), text(NFTA.chainName, chain)]
  return request(NFT_MSG.getChain, family, names)
}

function request(message: number, family: Family, attributes: readonly Buffer[]): OutgoingMessage {
  const header = Buffer.from(nfHeader(family))
  return {
    type: nfMessageType('nftables', message),
    flags: 0,
    payload: Buffer.concat([header, ...attributes]),
  }
}

function text(type: number, value: string): Buffer {
  return encodeAttribute(type, Buffer.from(`${value}\0`, 'latin1'))
}
