import { isJsonObject, type JsonObject, stringAt } from '../../lib/json.ts'
import type { PodReply } from '../agent/pod-serve.ts'
import type { Answer } from '../agent/protocol.ts'
import type { Repeats } from '../agent/syn-counters.ts'
import type { Sender } from './sandbox.ts'

/** A request that can be repeated. */
export interface Request {
  readonly from: Sender
  /** Source address, where the sender has several. */
  readonly source?: string
  /** The Service that should answer. */
  readonly service: string
  readonly url: string
  /** Whether the request goes to the API server, as the account of the pod. */
  readonly asAccount?: boolean
}

/** The result of a request: the pod that answered and the address that it saw, or why none answered. */
export type Reply =
  | ({
      readonly kind: 'answered'
      readonly ms: number
      readonly pod: string
      /** The client's address as the pod saw it. */
      readonly saw: string
      /** The address of the name in the URL. */
      readonly address: string
    } & Repeats)
  /** The API server answered: with the kind of an object, or the message of a refusal. */
  | { readonly kind: 'api'; readonly ms: number; readonly status: number; readonly text: string }
  | { readonly kind: 'refused' | 'silent'; readonly ms: number }
  | { readonly kind: 'failed'; readonly ms: number; readonly code: string }

/** Reads an answer; one that does not come from a pod of the sandbox is a failure. */
export function readReply(answer: Answer): Reply {
  if (answer.kind !== 'answered') return answer
  const { ms, status, body, address, lost, metTimeWait } = answer
  const reply = parsePodReply(body)
  if (reply === undefined || status !== 200) {
    return { kind: 'failed', ms, code: `HTTP ${status}, not from a pod` }
  }
  return { kind: 'answered', ms, pod: reply.pod, saw: reply.client, address, lost, metTimeWait }
}

/** Reads an answer of the API server. */
export function readApiReply(answer: Answer): Reply {
  if (answer.kind !== 'answered') return answer
  const { ms, status, body } = answer
  const object = parseObject(body)
  return { kind: 'api', ms, status, text: stringAt(object, status === 200 ? 'kind' : 'message') }
}

function parseObject(body: string): JsonObject {
  try {
    const value: unknown = JSON.parse(body)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

function parsePodReply(body: string): PodReply | undefined {
  const { pod, client } = parseObject(body)
  return typeof pod === 'string' && typeof client === 'string' ? { pod, client } : undefined
}
