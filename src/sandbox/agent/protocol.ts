import type { Repeats } from './syn-counters.ts'

/** One HTTP request, sent from inside an agent's namespace on a connection of its own. */
export interface RequestSpec {
  readonly url: string
  /** Source address, when the namespace has several. */
  readonly from?: string
  /** Whether the request is sent as the account of the Pod, with the token and the authority in the Pod's files. */
  readonly asAccount?: boolean
  /** Milliseconds of silence after which the request is given up. */
  readonly timeoutMs: number
}

/**
 * The outcome of a request. `refused`: RST, or ICMP port unreachable, at once.
 * `silent`: nothing at all. `failed`: any other error, with the system's code.
 */
export type Answer =
  | ({
      readonly kind: 'answered'
      readonly ms: number
      readonly status: number
      readonly body: string
      /** The address that answered: that of the name in the URL. */
      readonly address: string
    } & Repeats)
  | { readonly kind: 'refused' | 'silent'; readonly ms: number }
  | { readonly kind: 'failed'; readonly ms: number; readonly code: string }

/** Parent to agent, one JSON line each. */
export interface AgentRequest {
  readonly id: number
  readonly request: RequestSpec
}

/** Agent to parent. The first line of all is `ready`. */
export type AgentReply = { readonly ready: true } | { readonly id: number; readonly answer: Answer }
