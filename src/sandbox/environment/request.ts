import { isJsonObject, type JsonObject, stringAt } from '../../lib/json.ts'
import type { Answer, Repeats } from '../agent/agent.ts'
import type { PodReply } from '../agent/pod-serve.ts'
import { CLIENT_IP, NODE_IP, OTHER_CLIENT_IP } from '../network/topology.ts'
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

/** The Service by its address, for the node, which does not use the DNS servers of pods. */
const web = { service: 'web', url: 'http://10.96.0.10/' }
const api = { service: 'orch', from: 'pod-1', asAccount: true } as const
const namespace = 'https://orch.default.svc/api/v1/namespaces/default'
const local = { service: 'web-local', url: `http://${NODE_IP}:30081/` }
const balanced = { service: 'web-balanced', url: 'http://198.51.100.10/' }
const cart = { service: 'cart', url: `http://${NODE_IP}:30084/` }

/** The requests of tour and screen. Pods use names; the addresses are those of examples/services. */
export const REQUESTS = {
  podToWeb: { service: 'web', url: 'http://web/', from: 'pod-1' },
  podToFullName: {
    service: 'web',
    url: 'http://web.default.svc.cluster.local/',
    from: 'pod-2',
  },
  podToPublic: { service: 'web-public', url: 'http://web-public/', from: 'pod-1' },
  podReadsServices: { ...api, url: `${namespace}/services` },
  podReadsSecrets: { ...api, url: `${namespace}/secrets` },
  nodeToWeb: { ...web, from: 'node' },
  clientToPublic: { service: 'web-public', url: `http://${NODE_IP}:30080/`, from: 'client' },
  clientToLocal: { ...local, from: 'client', source: CLIENT_IP },
  clientToElsewhere: { service: 'web-elsewhere', url: `http://${NODE_IP}:30082/`, from: 'client' },
  clientToBalanced: { ...balanced, from: 'client', source: CLIENT_IP },
  otherClientToBalanced: { ...balanced, from: 'client', source: OTHER_CLIENT_IP },
  clientToCart: { ...cart, from: 'client', source: CLIENT_IP },
  otherClientToCart: { ...cart, from: 'client', source: OTHER_CLIENT_IP },
  clientToCatalog: { service: 'catalog', url: `http://${NODE_IP}:30086/`, from: 'client' },
  podToEmpty: { service: 'empty', url: 'http://empty.default/', from: 'pod-1' },
  clientToEmpty: { service: 'empty', url: `http://${NODE_IP}:30085/`, from: 'client' },
} as const satisfies Readonly<Record<string, Request>>
