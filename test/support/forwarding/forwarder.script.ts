import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { EntryId } from '../../../src/forwarding/entry.ts'
import type {
  DataPath,
  Forwarder,
  ForwarderLimits,
} from '../../../src/modes/userspace/forwarder.ts'
import { openForwarder } from '../../../src/modes/userspace/pool/open-forwarder.ts'
import type { Route } from '../../../src/modes/userspace/route.ts'
import { sendNews, serveCalls } from './serve-calls.ts'

/** The data path in a process of its own, which reports when a worker is lost. */
export type ForwarderCalls = typeof calls

export interface ForwarderStart {
  readonly dataPath: DataPath
  readonly workers: number
  readonly limits?: Partial<ForwarderLimits>
}

export interface Usage {
  /** The number of descriptors of each kind: `socket:[]`, `pipe:[]`, … */
  readonly descriptors: Readonly<Record<string, number>>
  readonly sockets: number
  /** Bytes of memory, after a collection. */
  readonly rss: number
}

const LIMITS: ForwarderLimits = {
  connections: 8_000,
  perClient: 4_000,
  connectMs: 500,
  retryMs: 5_000,
  attempts: 4,
  idleMs: 0,
  udpIdleMs: 30_000,
  drainMs: 8_000,
  affinityClients: 1_000,
}
const LOOK_EVERY_MS = 20
/** The state in /proc/net/tcp (linux/tcp_states.h). */
const SYN_RECV = '03'

const opened: { forwarder?: Forwarder; routes: Set<EntryId> } = { routes: new Set() }

function forwarder(): Forwarder {
  if (opened.forwarder === undefined) throw new Error('the forwarder is not open')
  return opened.forwarder
}

const calls = {
  async open({ dataPath, workers, limits }: ForwarderStart) {
    opened.forwarder = await openForwarder({
      dataPath,
      workers,
      listening: 'bound',
      families: [4],
      mark: 0,
      limits: { ...LIMITS, ...limits },
      onLost: (error) => sendNews(error.message),
    })
  },
  /** Applies routes. @returns the refused ones, and why */
  async apply(routes: readonly Route[]) {
    for (const { id } of routes) opened.routes.add(id)
    return [...(await forwarder().apply(new Map(routes.map((route) => [route.id, route]))))]
  },
  removeAll: () => forwarder().apply(new Map([...opened.routes].map((id) => [id, undefined]))),
  counts: () => forwarder().counts(),
  /** Waits, with a timeout, until there are this many clients. */
  async untilClients(wanted: number, timeoutMs = 90_000) {
    for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; ) {
      const { connectionsNow, udpFlowsNow } = forwarder().counts()
      if (connectionsNow + udpFlowsNow === wanted) return true
      await delay(LOOK_EVERY_MS)
    }
    return false
  },
  /** Waits, with a timeout, until no backend is draining. */
  async untilDrained(timeoutMs = 90_000) {
    for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; ) {
      if (forwarder().counts().drainingNow === 0) return true
      await delay(LOOK_EVERY_MS)
    }
    return false
  },
  /** TCP connections of this node that wait for the last packet of the handshake. */
  halfOpen: () =>
    readFileSync('/proc/self/net/tcp', 'utf8')
      .split('\n')
      .filter((line) => line.trim().split(/\s+/)[3] === SYN_RECV).length,
  usage(): Usage {
    globalThis.gc?.()
    const links = readdirSync('/proc/self/fd').map(targetOf)
    const kinds = Object.groupBy(links, (link) => link.replace(/\d+/g, ''))
    const descriptors = Object.fromEntries(
      Object.entries(kinds).map(([kind, all = []]) => [kind, all.length]),
    )
    const sockets = descriptors['socket:[]'] ?? 0
    return { descriptors, sockets, rss: process.memoryUsage.rss() }
  },
  close: () => forwarder().close(),
}

function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return ''
  }
}

serveCalls(calls)
