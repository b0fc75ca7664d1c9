import { setTimeout as delay } from 'node:timers/promises'
import { decodeGetServers } from '../../src/kernel/ipvs/netlink-ipvs.ts'
import {
  errnoOf,
  type NetlinkMessage,
  NLM_F_REQUEST,
  NLMSG_ERROR,
} from '../../src/kernel/netlink/message.ts'
import type { NetlinkTap } from '../lab/netlink-tap.ts'
import { toNumber } from '../lab/plan.ts'

/** The expected changes: real servers, and new virtual servers with their IP sets. */
export interface Coming {
  readonly endpoints: readonly number[]
  /** New virtual servers: their addresses must also be members of the IP sets that lead packets to them. */
  readonly services?: readonly number[]
}

/** Milliseconds between two reads of the messages. This does not affect precision, as the kernel stamps messages. */
const POLL_MS = 10
/** Milliseconds after the real servers of a new virtual server in which its sets may still change. */
const SETTLE_MS = 60

/** linux/netfilter/nfnetlink.h, ipset: NFNL_SUBSYS_IPSET with IPSET_CMD_ADD and IPSET_CMD_DEL. */
const SET_CHANGES: ReadonlySet<number> = new Set([0x0609, 0x060a])

/**
 * The moment, by `kernelClock`, when the kernel had acknowledged the last batch with an expected change; undefined
 * after the timeout.
 */
export async function acknowledged(
  tap: NetlinkTap,
  { endpoints, services = [] }: Coming,
  timeoutMs: number,
): Promise<number | undefined> {
  const missing = new Set(endpoints)
  const addresses = services.map(addressBytes)
  let deadline = performance.now() + timeoutMs
  let last: number | undefined
  let sent: Batch | undefined
  while (performance.now() < deadline) {
    for (const { at, messages } of tap.read()) {
      const [first] = messages
      if (first?.type !== NLMSG_ERROR) sent = batchOf(messages, { missing, addresses }) ?? sent
      else if (first.seq === sent?.seq && errnoOf(first) === 0) {
        for (const endpoint of sent.endpoints) missing.delete(endpoint)
        last = at
        sent = undefined
        if (missing.size === 0 && addresses.length === 0) return last
        if (missing.size === 0) deadline = Math.min(deadline, performance.now() + SETTLE_MS)
      }
    }
    await delay(POLL_MS)
  }
  return missing.size === 0 ? last : undefined
}

/** A datagram with an expected change. The answer to its last message acknowledges all of its messages. */
interface Batch {
  readonly seq: number
  readonly endpoints: readonly number[]
}

function batchOf(
  messages: readonly NetlinkMessage[],
  wanted: { readonly missing: ReadonlySet<number>; readonly addresses: readonly Buffer[] },
): Batch | undefined {
  const endpoints = messages.flatMap((message) => {
    const server = isRequest(message) ? decodeGetServers(message, 4) : undefined
    const endpoint = server && server.weight > 0 ? toNumber(server.ip) : undefined
    return endpoint !== undefined && wanted.missing.has(endpoint) ? [endpoint] : []
  })
  const isConcerned = endpoints.length > 0 || messages.some((each) => changesSet(each, wanted))
  const last = messages.at(-1)
  return isConcerned && last ? { seq: last.seq, endpoints } : undefined
}

function changesSet(
  { type, payload }: NetlinkMessage,
  { addresses }: { readonly addresses: readonly Buffer[] },
): boolean {
  return SET_CHANGES.has(type) && addresses.some((address) => payload.includes(address))
}

/** Whether a message is a request; messages of lists from the kernel differ only in this flag. */
function isRequest({ flags }: NetlinkMessage): boolean {
  return (flags & NLM_F_REQUEST) !== 0
}

function addressBytes(ip: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(ip)
  return bytes
}
