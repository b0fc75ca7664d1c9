import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import type { WalkStart } from '../../../src/explain/walk/walk-packet.ts'

/**
 * What a lab and its agents say to each other: one JSON object per line,
 * requests on the agent's standard input, replies on its standard output.
 * An agent runs in one namespace and is its listeners, its clients and its
 * way to the kernel's files.
 */
export type Transport = 'TCP' | 'UDP' | 'SCTP'

/** An address on which an agent answers, and the name with which it does. */
export interface Listener {
  readonly protocol: Transport
  readonly ip: string
  readonly port: number
  /** The name in its answers. */
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
  /** How many at the same time; 8 unless given. */
  readonly parallel?: number
  /** Milliseconds after which silence is an outcome; 1,000 unless given. */
  readonly timeoutMs?: number
  /** Stop early when this number of different listeners has answered. */
  readonly untilDistinct?: number
}

/** The outcome of one connection (TCP) or one request (UDP). */
export type ConnectOutcome =
  /** `name` of the listener, and the client's `ip:port` as the listener saw it. */
  | { readonly kind: 'answered'; readonly name: string; readonly peer: string }
  /** RST or ICMP port unreachable. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'timeout' }
  /** Connected, but to a process that is not a listener of the lab. */
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
  /** PEM of the authority that signed the server's certificate, for `https:`. */
  readonly ca?: string
  /** The credential of the user who sends the request. */
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

/** The outcomes of many connections. */
export interface TimedReport {
  readonly attempts: number
  /** Those without an answer, each from its start to its outcome, in milliseconds since the epoch. */
  readonly unanswered: readonly {
    readonly outcome: ConnectOutcome
    readonly from: number
    readonly to: number
  }[]
}

/** The outcomes of long-lived connections; `lost` are those that the agent did not end itself. */
export interface HeldReport {
  /** Connections per listener name. */
  readonly alive: Readonly<Record<string, number>>
  /** `how`: code of the error, `closed`, or `silent`; `afterMs`: since the first was opened. */
  readonly lost: readonly {
    readonly name: string
    readonly afterMs: number
    readonly how: string
  }[]
  /** Outcomes of the connections that were never established. */
  readonly refused: readonly ConnectOutcome[]
  /** Bytes that came back. */
  readonly echoes: number
}

/** A packet to walk through the kernel of the agent's namespace. */
export interface ExplainRequest {
  readonly start: WalkStart
  /** `ip:port` of listeners that will exist when the packet arrives. */
  readonly alsoListening: readonly string[]
  /** Whether the kernel has not changed since the last explanation, so that only routes need to be looked up again. */
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
  /** What the kernel of the namespace would do with a packet, from its rules and state. */
  explain: { params: ExplainRequest; result: readonly WalkOutcome[] }
  /** Opens one TCP connection and keeps it. */
  open: { params: ConnectRequest; result: { id: number; outcome: ConnectOutcome } }
  /** Sends a byte over a kept connection and waits for its echo; false when it is dead. */
  ping: { params: { id: number; timeoutMs: number }; result: boolean }
  /** Ends every kept connection. */
  resetOpen: { params: null; result: null }
  /** Connects again and again, `intervalMs` between starts, until `loadStop`. */
  loadStart: { params: ConnectRequest & { intervalMs: number }; result: { id: number } }
  /** Stops after at least `atLeast` attempts; 0 unless set. */
  loadStop: { params: { id: number; atLeast?: number }; result: LoadReport }
  /** Opens many connections one after the other, and sends a byte on each every `everyMs`. */
  holdOpen: {
    params: ConnectRequest & { count: number; everyMs: number }
    result: HeldReport & { id: number }
  }
  /** Sends a byte on each of them, and reports after the echoes. */
  holdCheck: { params: { id: number }; result: HeldReport }
  holdReport: { params: { id: number }; result: HeldReport }
  /** Ends all of them, or those of one listener, by RST or FIN; reports how they were. */
  holdEnd: { params: { id: number; how: 'reset' | 'close'; name?: string }; result: HeldReport }
  http: { params: HttpRequest; result: HttpReply }
  /** Of all interfaces of the namespace. */
  addresses: { params: null; result: string[] }
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
