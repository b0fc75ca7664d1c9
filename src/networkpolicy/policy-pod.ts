import { arrayAt, type Json, type JsonObject, objectAt, stringAt, valueAt } from '../lib/json.ts'

/** The fields of a Pod that NetworkPolicies depend on. */
export interface PolicyPod {
  /** `namespace/name` */
  readonly key: string
  readonly namespace: string
  readonly labels: Json
  readonly namespaceLabels: Json
  /** The named ports of its containers. */
  readonly namedPorts: readonly NamedPort[]
}

export interface NamedPort {
  readonly name: string
  readonly protocol: string
  readonly port: number
}

/**
 * Reads a Pod object; undefined for a Pod on the network of its node. NetworkPolicies do not apply to it, because its
 * packets are those of the node.
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

/** The containers that run at the same time; an init container that always restarts is a sidecar. */
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
