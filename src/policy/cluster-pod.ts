import { type IpAddress, parseIp } from '../lib/ip.ts'
import { arrayAt, isJsonObject, type Json, stringAt, valueAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { type PolicyPod, readPolicyPod } from '../networkpolicy/network-policy.ts'
import type { Decoded, Problem } from '../resources/problem.ts'
import { present } from '../resources/reader.ts'

/** A Pod with an address of its own, as policies see it. */
export interface ClusterPod extends Omit<PolicyPod, 'namespaceLabels'> {
  /** At least one. */
  readonly ips: readonly IpAddress[]
  readonly nodeName: string
  readonly isBeingDeleted: boolean
  /** Milliseconds since the epoch; 0 if unknown. */
  readonly createdAt: number
}

/**
 * Reads a Pod. Undefined for one without an address of its own: not yet or no more running, or on the network of its
 * node. An address that cannot be read is left out, with a warning.
 */
export function decodeClusterPod(raw: unknown): Decoded<ClusterPod | undefined> {
  if (!isJsonObject(raw)) return { ok: true, value: undefined, warnings: [] }
  const pod = readPolicyPod(raw, {})
  const object: Json = raw
  const isFinished = ['Succeeded', 'Failed'].includes(stringAt(object, 'status', 'phase'))
  if (pod === undefined || isFinished) return { ok: true, value: undefined, warnings: [] }
  const warnings: Problem[] = []
  const ips = addressesOf(object, warnings)
  if (ips.length === 0) return { ok: true, value: undefined, warnings }
  const { key, namespace, labels, namedPorts } = pod
  const value = {
    key,
    namespace,
    labels,
    namedPorts,
    ips,
    nodeName: stringAt(object, 'spec', 'nodeName'),
    isBeingDeleted: valueAt(object, 'metadata', 'deletionTimestamp') !== undefined,
    createdAt: Date.parse(stringAt(object, 'metadata', 'creationTimestamp')) || 0,
  }
  return { ok: true, value, warnings }
}

/** `status.podIPs`, or the one `podIP` of old servers. */
function addressesOf(pod: Json, warnings: Problem[]): readonly IpAddress[] {
  const listed = arrayAt(pod, 'status', 'podIPs').map((one) => valueAt(one, 'ip'))
  const written = listed.length > 0 ? listed : present([valueAt(pod, 'status', 'podIP')])
  return [
    ...new Set(
      written.flatMap((value, index) => {
        const ip = typeof value === 'string' ? parseIp(value) : undefined
        if (ip !== undefined) return [ip]
        const field = listed.length > 0 ? `status.podIPs[${index}].ip` : 'status.podIP'
        if (value !== '') warnings.push(unreadable(field, value))
        return []
      }),
    ),
  ]
}

function unreadable(field: string, value: unknown): Problem {
  const message = 'must be an IP address; policies do not know the Pod by it'
  return { field, value: quote(value), message }
}
