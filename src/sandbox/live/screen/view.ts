import type { PodState } from '../../cluster/pod-state.ts'
import type { SliceState } from '../../cluster/slice-state.ts'
import type { ApiAccess } from '../../environment/by-hand.ts'
import type { Reply, Request } from '../../environment/request.ts'
import type { ServiceRow } from './cluster-view.ts'

/** A request of the stream and what came of it. */
export interface SentRequest {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly request: Request
  readonly reply: Reply
}

/** Everything that the screen shows. */
export interface View {
  readonly mode: string
  readonly run: string
  readonly api: ApiAccess
  /** Where the commands are to be typed, in words. */
  readonly terminal: string
  /** What to type on the node to learn what becomes of a connection. */
  readonly explain: string
  /** What to type on the node to see the daemon's work, and to destroy it. */
  readonly show: string
  readonly flush: string
  /** Milliseconds since the sandbox was ready. */
  readonly upMs: number
  readonly services: readonly ServiceRow[]
  readonly backends: readonly SliceState[]
  readonly pods: readonly PodState[]
  /** Newest last. */
  readonly sent: readonly SentRequest[]
  /** Requests answered, by pod, and of all kinds. */
  readonly answers: ReadonlyMap<string, number>
  readonly kinds: ReadonlyMap<Reply['kind'], number>
  readonly daemonPid: number | undefined
  readonly daemonLog: readonly string[]
  /** What was last done by key. */
  readonly notice: string
}
