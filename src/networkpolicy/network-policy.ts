import type { Cidr } from '../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../lib/json.ts'
import type { Protocol } from '../resources/types.ts'

/** `ingress`: connections to the selected Pods; `egress`: connections that they open. */
export type Direction = 'ingress' | 'egress'

/** A NetworkPolicy with the defaults of the API filled in. */
export interface NetworkPolicy {
  /** `namespace/name` */
  readonly key: string
  readonly namespace: string
  /** A label selector for Pods of its namespace. */
  readonly podSelector: Json
  /**
   * The rules of each direction in which the policy isolates its Pods; a direction is absent if the policy does not
   * apply to it.
   */
  readonly rules: Readonly<Partial<Record<Direction, readonly PolicyRule[]>>>
}

/** The connections that one rule admits: of any of these peers, to any of these ports. */
export interface PolicyRule {
  readonly peers: readonly PolicyPeer[] | 'any'
  readonly ports: readonly PolicyPort[] | 'any'
}

/** The other end of a connection. */
export type PolicyPeer =
  /** Pods of the selected namespaces; without `namespaceSelector` those of the policy's namespace. */
  | { readonly kind: 'pods'; readonly namespaceSelector?: Json; readonly podSelector?: Json }
  | { readonly kind: 'block'; readonly cidr: Cidr; readonly except: readonly Cidr[] }

/** A port of the destination. */
export interface PolicyPort {
  readonly protocol: Protocol
  /** A range of numbers, or the name of a container port; absent: every port. */
  readonly port?: string | { readonly first: number; readonly last: number }
}

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

interface NamedPort {
  readonly name: string
  readonly protocol: string
  readonly port: number
}

const OPERATORS: ReadonlySet<unknown> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist'])

/** Whether a value is a label selector of which every part can be read. */
export function isSelector(value: Json | undefined): value is JsonObject {
  if (!isJsonObject(value)) return false
  const { matchLabels = {}, matchExpressions = [], ...others } = value
  if (Object.keys(others).length > 0 || !isJsonObject(matchLabels ?? {})) return false
  const values = Object.values(isJsonObject(matchLabels) ? matchLabels : {})
  const expressions = matchExpressions ?? []
  return areTexts(values) && Array.isArray(expressions) && expressions.every(isExpression)
}

function isExpression(expression: Json): boolean {
  const [key, operator] = [valueAt(expression, 'key'), valueAt(expression, 'operator')]
  const values = valueAt(expression, 'values') ?? []
  return typeof key === 'string' && OPERATORS.has(operator) && areTexts(values)
}

function areTexts(list: Json): boolean {
  return Array.isArray(list) && list.every((one) => typeof one === 'string')
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
