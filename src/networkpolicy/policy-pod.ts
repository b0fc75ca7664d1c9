import { arrayAt, type Json, type JsonObject, objectAt, stringAt, valueAt } from '../lib/json.ts'

/** A Pod, as far as NetworkPolicies see it. */
export interface PolicyPod {
  /** `namespace/name` */
  readonly key: string
  readonly namespace: string
  readonly labels: Json
  readonly namespaceLabels: Json
  /** The ports that its containers give a name. */
  readonly namedPorts: readonly NamedPort[]
}

export interface NamedPort {
  readonly name: string
  readonly protocol: string
  readonly port: number
}

/**
 * Reads a Pod object; undefined for one on the network of its node, which NetworkPolicies do not see: its packets are
 * those of the node.
 */
export function readPolicyPod(pod: JsonObject, namespaceLabels: Json): PolicyPod | undefined {
  if (valueAt(pod, 'spec', 'hostNetwork') === true) return undefined
  const namespace = stringAt(pod, 'metadata', 'namespace')
  return {
    key: `${namespace}/${stringAt(pod, 'metadata', 'name')}`,
    namespace,
    labels: objectAt(pod, 'metadata', 'labels'),
    namespaceLabels,
    namedPorts: runningContainers(pod).flatMap(portsOf),
  }
}

/** The containers that run beside each other: a sidecar is an init container that restarts always. */
function runningContainers(pod: JsonObject): readonly Json[] {
  const sidecars = arrayAt(pod, 'spec', 'initContainers').filter(
    (one) => stringAt(one, 'restartPolicy') === 'Always',
  )
  return [...arrayAt(pod, 'spec', 'containers'), ...sidecars]
}

function portsOf(container: Json): readonly NamedPort[] {
  return arrayAt(container, 'ports').flatMap((one) => {
    const port = valueAt(one, 'containerPort')
    const name = stringAt(one, 'name')
    if (name === '' || typeof port !== 'number') return []
    return [{ name, protocol: stringAt(one, 'protocol') || 'TCP', port }]
  })
}
