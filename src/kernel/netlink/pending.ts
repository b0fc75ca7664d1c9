import type { AnswerTimeout } from './answer-timeout.ts'
import { decodeKernelError, type KernelError } from './kernel-error.ts'
import type { NetlinkMessage } from './message.ts'

/** How an attempt ended; `interrupted`: what was listed changed meanwhile. */
export type AttemptResult = 'done' | 'interrupted' | 'overrun'

/** A request whose answer is awaited; its messages have the sequence numbers `first` to `last`. */
export interface Pending {
  readonly first: number
  readonly last: number
  readonly onMessage: (message: NetlinkMessage) => void
  /** Of each message that failed, by its place in the request. */
  readonly refusals: Map<number, KernelError>
  /** An error of the first message is the answer to all of them. */
  readonly endsWithFirst: boolean
  /** A list that changed meanwhile is done all the same. */
  readonly evenIfChanged: boolean
  interrupted: boolean
  readonly settle: (outcome: AttemptResult) => void
  readonly fail: (error: Error) => void
  readonly timeout: AnswerTimeout
}

/** Takes an NLMSG_ERROR or NLMSG_DONE. */
export function finish(pending: Pending, message: NetlinkMessage): void {
  const refusal = decodeKernelError(message)
  if (refusal !== undefined) pending.refusals.set(message.seq - pending.first, refusal)
  const isAll = pending.endsWithFirst && refusal !== undefined && message.seq === pending.first
  if (isAll || message.seq === pending.last)
    pending.settle(pending.interrupted ? 'interrupted' : 'done')
}
