import { isJsonObject } from '../../lib/json.ts'
import type { Answer } from '../agent/protocol.ts'
import type { PodReply } from '../pod/serve.ts'
import type { Place } from './sandbox.ts'

/** A request that can be made again and again. */
export interface Request {
  readonly from: Place
  /** Source address, where the sender has several. */
  readonly source?: string
  /** The Service that should answer. */
  readonly service: string
  readonly url: string
}

/** What came of a request: who answered and whom it saw, or why nobody did. */
export type Reply =
  | {
      readonly kind: 'answered'
      readonly ms: number
      readonly pod: string
      /** The client's address as the pod saw it. */
      readonly saw: string
      /** Packets that got lost before. */
      readonly lost: number
    }
  | { readonly kind: 'refused' | 'silent'; readonly ms: number }
  | { readonly kind: 'failed'; readonly ms: number; readonly code: string }

/** Reads an answer; what does not come from one of our pods is a failure. */
export function readReply(answer: Answer): Reply {
  if (answer.kind !== 'answered') return answer
  const { ms, status, body, lost } = answer
  const reply = parsePodReply(body)
  if (reply === undefined || status !== 200) {
    return { kind: 'failed', ms, code: `HTTP ${status} of a stranger` }
  }
  return { kind: 'answered', ms, pod: reply.pod, saw: reply.client, lost }
}

function parsePodReply(body: string): PodReply | undefined {
  try {
    const value: unknown = JSON.parse(body)
    if (!isJsonObject(value)) return undefined
    const { pod, client } = value
    return typeof pod === 'string' && typeof client === 'string' ? { pod, client } : undefined
  } catch {
    return undefined
  }
}
