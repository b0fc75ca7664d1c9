import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import type { WalkStart } from '../../../src/explain/walk/walk-packet.ts'

/**
 * What a lab and its agents say to each other: one JSON object per line,
 * requests on the agent's standard input, replies on its standard output.
 * An agent runs in one namespace and is its listeners, its clients and its
 * way to the kernel's files.
 */
export type Transport = 'TCP' | 'UDP' | 'SCTP'

/** Where an agent answers, and as whom. */
export interface Listener {
  readonly protocol: Transport
  readonly ip: string
  readonly port: number
  /** What it calls itself in its answers. */
  readonly name: string
}

export interface ConnectRequest {
  readonly protocol: Transport
  /** Source address to bind; it must exist in the namespace. */
  readonly source: string
  /** Fixed source port; a new one per attempt unless given. */
  readonly sourcePort?: number
  readonly destination: string
  readonly port: number
  /** How many new connections; 1 unless given. */
  readonly attempts?: number
  /** How many at a time; 8 unless given. */
  readonly parallel?: number
  /** Milliseconds after which silence is an outcome; 1,000 unless given. */
  readonly timeoutMs?: number
  /** Stop early once so many different answerers were seen. */
  readonly untilDistinct?: number
}

/** What became of one connection (TCP) or one request (UDP). */
export type ConnectOutcome =
  /** `name` of the listener, and the client's `ip:port` as the listener saw it. */
  | { readonly kind: 'answered'; readonly name: string; readonly peer: string }
  /** RST or ICMP port unreachable. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'timeout' }
  /** Connected, but to a process that is no listener of the lab. */
  | { readonly kind: 'mute' }
  /** Anything else; `code` is the error's. */
  | { readonly kind: 'failed'; readonly code: string }

/** How a client proves its user: a certificate with its key, PEM, or a bearer token. */
export type Credential =
  | { readonly cert: string; readonly key: string }
  | { readonly token: string }

export interface HttpRequest {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs?: number
  /** PEM of the authority that the server's certificate is of, for `https:`. */
  readonly ca?: string
  /** Of the user that sends it. */
  readonly credential?: Credential
}

export interface HttpReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface LoadReport {
  readonly attempts: number
  /** Outcomes other than `answered`, at most 100 of them. */
  readonly failures: readonly { readonly afterMs: number; readonly outcome: ConnectOutcome }[]
  readonly failed: number
  /** Answers per listener name. */
  readonly answers: Readonly<Record<string, number>>
}

/** What became of many connections. */
export interface TimedReport {
  readonly attempts: number
  /** Those without an answer, each from its start to its outcome, in milliseconds since the epoch. */
  readonly unanswered: readonly {
    readonly outcome: ConnectOutcome
    readonly from: number
    readonly to: number
  }[]
}

/** What became of long-lived connections; `lost` are those that did not end by their own will. */
export interface HeldReport {
  /** Connections per listener name. */
  readonly alive: Readonly<Record<string, number>>
  /** `how`: code of the error, `closed`, or `silent`; `afterMs`: since the first was opened. */
  readonly lost: readonly {
    readonly name: string
    readonly afterMs: number
    readonly how: string
  }[]
  /** Outcomes of those that never came to be. */
  readonly refused: readonly ConnectOutcome[]
  /** Bytes that came back. */
  readonly echoes: number
}

/** A packet to be walked through the kernel of the agent's namespace. */
export interface ExplainRequest {
  readonly start: WalkStart
  /** `ip:port` where a listener will be by the time that the packet comes. */
  readonly alsoListening: readonly string[]
  /** The kernel is as it was at the last explanation, so that only routes are looked up anew. */
  readonly isUnchanged: boolean
}

/** Every operation of an agent: its parameters and its result. */
export interface AgentCalls {
  listen: { params: Listener; result: null }
  unlisten: { params: Omit<Listener, 'name'>; result: null }
  /** Datagrams that a UDP listener has received. */
  heard: { params: Omit<Listener, 'name'>; result: number }
  unlistenAll: { params: null; result: null }
  connect: { params: ConnectRequest; result: ConnectOutcome[] }
  /** One connection from each of many sources; outcomes in their order. */
  connectEach: {
    params: Omit<ConnectRequest, 'source' | 'sourcePort' | 'attempts'> & {
      sources: readonly string[]
    }
    result: ConnectOutcome[]
  }
  connectTimed: { params: ConnectRequest; result: TimedReport }
  /** What the kernel of the namespace does with a packet, by what it holds. */
  explain: { params: ExplainRequest; result: readonly WalkOutcome[] }
  /** Opens one TCP connection and keeps it. */
  open: { params: ConnectRequest; result: { id: number; outcome: ConnectOutcome } }
  /** Sends a byte over a kept connection and waits for its echo; false when it is dead. */
  ping: { params: { id: number; timeoutMs: number }; result: boolean }
  /** Ends every kept connection. */
  resetOpen: { params: null; result: null }
  /** Connects again and again, `intervalMs` between starts, until `loadStop`. */
  loadStart: { params: ConnectRequest & { intervalMs: number }; result: { id: number } }
  /** Stops after at least so many attempts; 0 unless set. */
  loadStop: { params: { id: number; atLeast?: number }; result: LoadReport }
  /** Opens many connections one after the other and keeps them talking, a byte each `everyMs`. */
  holdOpen: {
    params: ConnectRequest & { count: number; everyMs: number }
    result: HeldReport & { id: number }
  }
  /** Has every one of them say a byte and waits for the echoes first. */
  holdCheck: { params: { id: number }; result: HeldReport }
  holdReport: { params: { id: number }; result: HeldReport }
  /** Ends all of them, or those of one listener, by RST or FIN; reports how they were. */
  holdEnd: { params: { id: number; how: 'reset' | 'close'; name?: string }; result: HeldReport }
  http: { params: HttpRequest; result: HttpReply }
  read: { params: { path: string }; result: string }
  write: { params: { path: string; text: string }; result: null }
}

export type AgentRequest = {
  [Op in keyof AgentCalls]: { id: number; op: Op; params: AgentCalls[Op]['params'] }
}[keyof AgentCalls]

export type AgentReply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }

/** `10.0.0.1:80`, `[fd00::1]:80`. */
export function socketName(ip: string, port: number): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}
