import { setTimeout as delay } from 'node:timers/promises'
import { decodeGetServers } from '../../src/kernel/ipvs/codec/get-servers.ts'
import {
  errnoOf,
  type NetlinkMessage,
  NLM_F_REQUEST,
  NLMSG_ERROR,
} from '../../src/kernel/netlink/message.ts'
import type { NetlinkTap } from '../lab/netlink-tap.ts'
import { toNumber } from '../lab/plan.ts'

/** Between two looks at what was heard; the moments themselves are the kernel's. */
const POLL_MS = 10

/**
 * When the kernel had acknowledged a batch with each of these addresses of real servers:
 * the last of these moments, by `kernelClock`; undefined after the time-out.
 */
export async function acknowledged(
  tap: NetlinkTap,
  endpoints: readonly number[],
  timeoutMs: number,
): Promise<number | undefined> {
  const deadline = performance.now() + timeoutMs
  const missing = new Set(endpoints)
  let sent: Batch | undefined
  while (performance.now() < deadline) {
    for (const { at, messages } of tap.read()) {
      const [first] = messages
      if (first?.type !== NLMSG_ERROR) {
        sent = batchOf(messages, missing) ?? sent
      } else if (first.seq === sent?.seq && errnoOf(first) === 0) {
        for (const endpoint of sent.endpoints) missing.delete(endpoint)
        if (missing.size === 0) return at
      }
    }
    await delay(POLL_MS)
  }
  return undefined
}

/** A datagram that makes some of the real servers; the answer to its last message is that to all. */
interface Batch {
  readonly seq: number
  readonly endpoints: readonly number[]
}

function batchOf(
  messages: readonly NetlinkMessage[],
  wanted: ReadonlySet<number>,
): Batch | undefined {
  const endpoints = messages.flatMap((message) => {
    const server = isRequest(message) ? decodeGetServers(message, 4) : undefined
    const endpoint = server && server.weight > 0 ? toNumber(server.ip) : undefined
    return endpoint !== undefined && wanted.has(endpoint) ? [endpoint] : []
  })
  const last = messages.at(-1)
  return endpoints.length > 0 && last ? { seq: last.seq, endpoints } : undefined
}

/** What the kernel lists looks the same but for this. */
function isRequest({ flags }: NetlinkMessage): boolean {
  return (flags & NLM_F_REQUEST) !== 0
}
