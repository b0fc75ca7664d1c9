import { hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import {
  type AnyPolicy,
  type ConnectionEnd,
  type EndJudgement,
  judgeEnd,
} from '../../networkpolicy/judge-connection.ts'
import { readPolicyPod } from '../../networkpolicy/network-policy.ts'
import type { Protocol } from '../../resources/types.ts'
import { nodeAddresses } from '../nodes/node-inspection.ts'

/** A backend that a connection may reach. */
export interface ReachedBackend {
  readonly ip: IpAddress
  readonly port: number
  /** The source that it sees; undefined: an unknown address of the node that explains the connection. */
  readonly seen: IpAddress | undefined
}

/** What NetworkPolicies say of the connection to one backend. */
export interface PolicyJudgement {
  readonly ip: IpAddress
  readonly port: number
  readonly isAdmitted: boolean
  /** The source that the backend sees, if that is not the real source. */
  readonly seen?: string
  /** Absent: the source is not a Pod to which policies apply. */
  readonly egress?: EndJudgement
  /** Absent: the backend is not a Pod. */
  readonly ingress?: EndJudgement
}

/** What decides the judgement of a connection. */
export interface JudgedConnection {
  readonly policies: readonly AnyPolicy[]
  /** The labels of a namespace. */
  readonly labelsOf: (namespace: string) => JsonObject
  readonly protocol: Protocol
  /** The node that explains the connection. */
  readonly node: JsonObject
  readonly nodes: readonly JsonObject[]
  /** Undefined: a process of that node. */
  readonly source: IpAddress | undefined
  readonly sourcePod: JsonObject | undefined
}

/**
 * Judges the connection to a backend: egress by the real source, ingress by the source that the backend sees. The
 * latter is the node if the connection is masqueraded.
 */
export function judgePolicies(
  judged: JudgedConnection,
  { ip, port, seen }: ReachedBackend,
  pod: JsonObject | undefined,
): PolicyJudgement {
  const { policies, protocol, node, source, sourcePod } = judged
  const isKept = source !== undefined && seen === source
  const sender = source === undefined ? hostEnd(node, seen) : endOf(judged, source, sourcePod)
  const visible = isKept ? sender : hostEnd(node, seen)
  const destination = endOf(judged, ip, pod)
  const to = { destination, protocol, port }
  const egress = judgeEnd(policies, { source: sender, ...to }, 'egress')
  const ingress = judgeEnd(policies, { source: visible, ...to }, 'ingress')
  return {
    ip,
    port,
    isAdmitted: egress?.isAdmitted !== false && ingress?.isAdmitted !== false,
    ...(isKept || source === undefined ? {} : { seen: seen ?? 'an address of the node' }),
    ...(egress && { egress }),
    ...(ingress && { ingress }),
  }
}

function endOf(
  { labelsOf, nodes }: JudgedConnection,
  ip: IpAddress,
  pod: JsonObject | undefined,
): ConnectionEnd {
  if (pod === undefined) {
    const host = nodes.find((one) => nodeAddresses(one).includes(ip))
    return { ip, pod: undefined, node: host && nameOf(host) }
  }
  const namespaceLabels = labelsOf(stringAt(pod, 'metadata', 'namespace'))
  const on = stringAt(pod, 'spec', 'nodeName')
  return { ip, pod: readPolicyPod(pod, namespaceLabels), node: on === '' ? undefined : on }
}

function hostEnd(node: JsonObject, seen: IpAddress | undefined): ConnectionEnd {
  return { ip: addressOf(node, seen), pod: undefined, node: nameOf(node) }
}

/** The address that the backend sees; the first of the node if it is not known. */
function addressOf(node: JsonObject, seen: IpAddress | undefined): IpAddress {
  return seen ?? nodeAddresses(node)[0] ?? parseIp('0.0.0.0')!
}

function nameOf(node: JsonObject): string {
  return stringAt(node, 'metadata', 'name')
}

/**
 * The backends of an explanation: first those to which the kernel delivers, with the source that they see, then further
 * ones that node-proxy wants.
 */
export function reachedBackends(document: JsonObject): readonly ReachedBackend[] {
  const delivered = arrayAt(document, 'observed')
    .filter((one) => stringAt(one, 'kind') === 'delivered')
    .flatMap((one) => backendAt(valueAt(one, 'dst'), parseIp(stringAt(one, 'src'))))
  const isKept = stringAt(document, 'desired', 'masquerade') !== 'yes'
  const source = isKept ? parseIp(stringAt(document, 'src')) : undefined
  const wanted = arrayAt(document, 'desired', 'backends').flatMap((one) => backendAt(one, source))
  const found = new Map<string, ReachedBackend>()
  for (const one of [...delivered, ...wanted]) found.getOrInsert(hostPort(one.ip, one.port), one)
  return [...found.values()]
}

function backendAt(at: Json | undefined, seen: IpAddress | undefined): readonly ReachedBackend[] {
  const ip = parseIp(stringAt(at, 'ip'))
  const port = valueAt(at, 'port')
  return ip === undefined || typeof port !== 'number' ? [] : [{ ip, port, seen }]
}
