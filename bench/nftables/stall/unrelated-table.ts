import { encodeMessages, NLM_F_REQUEST } from '../../../src/kernel/netlink/message.ts'
import { NFTA } from '../../../src/kernel/netlink/nfnetlink.ts'
import { encodeCommand, message, writer } from '../../../src/kernel/nftables/commands.ts'
import { batchOf } from '../../../src/kernel/nftables/netlink-nftables.ts'
import type { Command } from '../../../src/kernel/nftables/objects.ts'
import {
  type EncodedTransaction,
  encodedTransaction,
  type NetfilterRequests,
} from '../kernel/netfilter-requests.ts'

const TABLE = { family: 4, name: 'bench-unrelated' } as const
const RULE = { expressions: [{ type: 'counter' }] } as const

const ADD_RULE: Command = { do: 'addRule', table: TABLE, chain: 'added', rule: RULE }
const FLUSH: Command = { do: 'flushChain', table: TABLE, chain: 'added' }

/** A table like that of a firewall: a rule that forwarded packets pass, and a chain to which rules are added. */
export const MAKE_TABLE = encoded([
  { do: 'addTable', table: TABLE },
  {
    do: 'addChain',
    table: TABLE,
    chain: 'forward',
    spec: { hook: { type: 'filter', hook: 'forward', priority: 10 } },
  },
  { do: 'addRule', table: TABLE, chain: 'forward', rule: RULE },
  { do: 'addChain', table: TABLE, chain: 'added' },
])

/** What `nft add rule` sends. */
export const ADD_ONE = encoded([ADD_RULE])

/** Keeps the chain short; not measured. */
export const EMPTY_CHAIN = encoded([FLUSH])

/** What `nft list table` reads: the table, its sets, its chains and their rules. */
export function listTable(requests: NetfilterRequests): void {
  const to = () => writer(TABLE.family).text(NFTA.table, TABLE.name)
  requests.one(message('getTable', to()))
  for (const type of ['getSet', 'getChain', 'getRule'] as const) requests.list(message(type, to()))
}

function encoded(commands: readonly Command[]): EncodedTransaction {
  const messages = commands.flatMap((each) => encodeCommand(each, { next: 1 }, () => undefined))
  const requests = batchOf(messages).map((each) => ({ ...each, flags: each.flags | NLM_F_REQUEST }))
  return encodedTransaction(encodeMessages(requests, 1))
}
