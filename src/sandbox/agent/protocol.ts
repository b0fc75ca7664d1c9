import type { Repeats } from './syn-counters.ts'

/** One HTTP request, sent from inside an agent's namespace on a connection of its own. */
export interface RequestSpec {
  readonly url: string
  /** Source address, when the namespace has several. */
  readonly from?: string
  /** Whether it is made as the account of the Pod, with the token and the authority in its files. */
  readonly asAccount?: boolean
  /** Milliseconds of silence after which it is over. */
  readonly timeoutMs: number
}

/**
 * What became of it. `refused`: RST, or ICMP port unreachable, at once.
 * `silent`: nothing at all. `failed`: anything else, with the system's code.
 */
export type Answer =
  | ({
      readonly kind: 'answered'
      readonly ms: number
      readonly status: number
      readonly body: string
      /** The address that answered: what a name in the URL stands for. */
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
