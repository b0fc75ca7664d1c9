import { AttributeWriter } from '../../netlink/attribute-writer.ts'
import { NLM_F_ACK, type OutgoingMessage } from '../../netlink/message.ts'
import { NFNL_SUBSYS } from '../../netlink/nfnetlink.ts'

/** linux/netfilter/nfnetlink.h: messages around those of one transaction, and the attribute of the first one. */
const BATCH_BEGIN = 0x10
const BATCH_END = 0x11
const BATCH_GENERATION = 1

/**
 * The messages of one transaction. The last command alone requests an acknowledgement: older kernels send none for the
 * message that ends the batch.
 */
export function batchOf(
  commands: readonly OutgoingMessage[],
  generation?: number,
): readonly OutgoingMessage[] {
  const begin = edge()
  if (generation !== undefined) begin.be32(BATCH_GENERATION, generation)
  const last = commands.length - 1
  return [
    { type: BATCH_BEGIN, flags: 0, payload: begin.written() },
    ...commands.map((one, index) =>
      index === last ? { ...one, flags: one.flags | NLM_F_ACK } : one,
    ),
    { type: BATCH_END, flags: 0, payload: edge().written() },
  ]
}

/** `struct nfgenmsg`: no family, version 0, and the subsystem in network byte order. */
function edge(): AttributeWriter {
  return new AttributeWriter().header(0, 0, 0, NFNL_SUBSYS.nftables)
}
