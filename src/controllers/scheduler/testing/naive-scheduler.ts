import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  stringsAt,
  valueAt,
} from '../../../lib/json.ts'

/**
 * Says by the words of the documentation of Kubernetes whether a Pod may run on a node: from the raw objects, one node at a
 * time, without any code of the scheduler. Quantities are whole numbers, cpu may be thousandths.
 */
export interface RawCluster {
  readonly nodes: readonly JsonObject[]
  readonly pods: readonly JsonObject[]
}

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'

/** The names of the nodes that a Pod may be bound to. */
export function permittedNodes(pod: JsonObject, cluster: RawCluster): readonly string[] {
  return cluster.nodes
    .filter((node) => permits(node, pod, cluster))
    .map(nameOf)
    .toSorted()
}

export function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name')
}

function permits(node: JsonObject, pod: JsonObject, cluster: RawCluster): boolean {
  return (
    isOpen(node, pod) &&
    wants(node, pod) &&
    overloads(node, [...podsOn(node, cluster), pod]).length === 0 &&
    portsAreFree(node, pod, cluster) &&
    isNear(node, pod, cluster) &&
    isFar(node, pod, cluster) &&
    isEven(node, pod, cluster)
  )
}

function isOpen(node: JsonObject, pod: JsonObject): boolean {
  const ready = arrayAt(node, 'status', 'conditions').find(
    (one) => stringAt(one, 'type') === 'Ready',
  )
  const taints = [...arrayAt(node, 'spec', 'taints')]
  const close = (state: string): void =>
    void taints.push({ key: `node.kubernetes.io/${state}`, effect: 'NoSchedule' })
  if (stringAt(ready, 'status') === 'Unknown') close('unreachable')
  else if (stringAt(ready, 'status') !== 'True') close('not-ready')
  if (valueAt(node, 'spec', 'unschedulable') === true) close('unschedulable')
  return taints.every(
    (taint) =>
      stringAt(taint, 'effect') === 'PreferNoSchedule' ||
      arrayAt(pod, 'spec', 'tolerations').some((one) => isTolerating(one, taint)),
  )
}

function isTolerating(toleration: Json, taint: Json): boolean {
  const [effect, key] = [stringAt(toleration, 'effect'), stringAt(toleration, 'key')]
  const isOfEffect = effect === '' || effect === stringAt(taint, 'effect')
  if (stringAt(toleration, 'operator') === 'Exists') {
    return isOfEffect && (key === '' || key === stringAt(taint, 'key'))
  }
  const isEqual = stringAt(toleration, 'value') === stringAt(taint, 'value')
  return isOfEffect && key === stringAt(taint, 'key') && isEqual
}

function labelsOf(object: JsonObject): JsonObject {
  return objectAt(object, 'metadata', 'labels')
}

function wants(node: JsonObject, pod: JsonObject): boolean {
  const labels = labelsOf(node)
  const selector = Object.entries(objectAt(pod, 'spec', 'nodeSelector'))
  if (selector.some(([key, value]) => labels[key] !== value)) return false
  const required = valueAt(pod, 'spec', 'affinity', 'nodeAffinity', REQUIRED)
  if (required === undefined) return true
  return arrayAt(required, 'nodeSelectorTerms').some((term) => {
    const expressions = arrayAt(term, 'matchExpressions')
    return expressions.length > 0 && expressions.every((one) => isMet(one, labels))
  })
}

function isMet(expression: Json, labels: JsonObject): boolean {
  const value = labels[stringAt(expression, 'key')]
  const values = stringsAt(expression, 'values')
  const isIn = typeof value === 'string' && values.includes(value)
  const results: Readonly<Record<string, boolean>> = {
    In: isIn,
    NotIn: !isIn,
    Exists: value !== undefined,
    DoesNotExist: value === undefined,
    Gt: Number(value) > Number(values[0]),
    Lt: Number(value) < Number(values[0]),
  }
  return results[stringAt(expression, 'operator')] ?? false
}

/** The Pods that run on a node. */
export function podsOn(node: JsonObject, { pods }: RawCluster): readonly JsonObject[] {
  const name = nameOf(node)
  return pods.filter((pod) => isRunning(pod) && stringAt(pod, 'spec', 'nodeName') === name)
}

function isRunning(pod: JsonObject): boolean {
  return !['Succeeded', 'Failed'].includes(stringAt(pod, 'status', 'phase'))
}

/** The resources of which these Pods take more than the node has, if they ask for any. */
export function overloads(node: JsonObject, pods: readonly JsonObject[]): readonly string[] {
  const has = objectAt(node, 'status', 'allocatable')
  const over = [...new Set(pods.flatMap((pod) => [...requestsOf(pod).keys()]))].filter((name) => {
    const last = requestsOf(pods.at(-1) ?? {}).get(name) ?? 0
    const sum = pods.reduce((all, pod) => all + (requestsOf(pod).get(name) ?? 0), 0)
    return last > 0 && sum > amountOf(has[name])
  })
  return pods.length > amountOf(has['pods']) / 1000 ? [...over, 'pods'] : over
}

/** In thousandths. */
function amountOf(quantity: Json | undefined): number {
  const text = scalarText(quantity ?? '0')
  return text.endsWith('m') ? Number(text.slice(0, -1)) : 1000 * Number(text)
}

/** By the sum of containers and sidecars, and by the needs of each init container. */
function requestsOf(pod: JsonObject): ReadonlyMap<string, number> {
  const init = arrayAt(pod, 'spec', 'initContainers')
  const isSidecar = (one: Json): boolean => stringAt(one, 'restartPolicy') === 'Always'
  const running = [...arrayAt(pod, 'spec', 'containers'), ...init.filter(isSidecar)]
  const stages = [running, ...init.map((one, at) => [...init.slice(0, at).filter(isSidecar), one])]
  const needs = new Map<string, number>()
  for (const stage of stages) {
    const sums = new Map<string, number>()
    for (const container of stage) {
      for (const [name, amount] of Object.entries(objectAt(container, 'resources', 'requests'))) {
        sums.set(name, (sums.get(name) ?? 0) + amountOf(amount))
      }
    }
    for (const [name, sum] of sums) needs.set(name, Math.max(needs.get(name) ?? 0, sum))
  }
  return needs
}

function portsAreFree(node: JsonObject, pod: JsonObject, cluster: RawCluster): boolean {
  const taken = podsOn(node, cluster).flatMap(portsOf)
  return portsOf(pod).every((port) => !taken.includes(port))
}

function portsOf(pod: JsonObject): readonly number[] {
  return arrayAt(pod, 'spec', 'containers')
    .flatMap((one) => arrayAt(one, 'ports'))
    .flatMap((port) => valueAt(port, 'hostPort') ?? [])
    .map(Number)
}

function termsOf(pod: JsonObject, kind: string): readonly Json[] {
  return arrayAt(pod, 'spec', 'affinity', kind, REQUIRED)
}

/** Whether a term of `owner` selects `pod`. */
function isSelected(term: Json, owner: JsonObject, pod: JsonObject): boolean {
  const namespaces = stringsAt(term, 'namespaces')
  const namespaceOf = (one: JsonObject): string => stringAt(one, 'metadata', 'namespace')
  const own = namespaces.length === 0 ? [namespaceOf(owner)] : namespaces
  const wanted = Object.entries(objectAt(term, 'labelSelector', 'matchLabels'))
  const labels = labelsOf(pod)
  return own.includes(namespaceOf(pod)) && wanted.every(([key, value]) => labels[key] === value)
}

/** Whether two nodes are the same place by a label. */
function isSamePlace(a: JsonObject, b: JsonObject | undefined, key: string): boolean {
  const place = labelsOf(a)[key]
  return b !== undefined && place !== undefined && labelsOf(b)[key] === place
}

function nodeOf(pod: JsonObject, { nodes }: RawCluster): JsonObject | undefined {
  return nodes.find((node) => nameOf(node) === stringAt(pod, 'spec', 'nodeName'))
}

function isNear(node: JsonObject, pod: JsonObject, cluster: RawCluster): boolean {
  const terms = termsOf(pod, 'podAffinity')
  const keys = terms.map((term) => stringAt(term, 'topologyKey'))
  if (keys.some((key) => labelsOf(node)[key] === undefined)) return false
  const friends = cluster.pods.filter(
    (one) =>
      isRunning(one) &&
      nodeOf(one, cluster) !== undefined &&
      terms.every((term) => isSelected(term, pod, one)),
  )
  const isAnywhere = friends.some((one) =>
    keys.some((key) => labelsOf(nodeOf(one, cluster) ?? {})[key] !== undefined),
  )
  if (!isAnywhere && terms.every((term) => isSelected(term, pod, pod))) return true
  return keys.every((key) => friends.some((one) => isSamePlace(node, nodeOf(one, cluster), key)))
}

function isFar(node: JsonObject, pod: JsonObject, cluster: RawCluster): boolean {
  const others = cluster.pods.filter(isRunning)
  const repels = (owner: JsonObject, other: JsonObject, where: JsonObject | undefined): boolean =>
    termsOf(owner, 'podAntiAffinity').some(
      (term) =>
        isSelected(term, owner, other) && isSamePlace(node, where, stringAt(term, 'topologyKey')),
    )
  return others.every((one) => {
    const where = nodeOf(one, cluster)
    return !repels(pod, one, where) && !repels(one, pod, where)
  })
}

function isEven(node: JsonObject, pod: JsonObject, cluster: RawCluster): boolean {
  const constraints = arrayAt(pod, 'spec', 'topologySpreadConstraints')
  const keys = constraints.map((one) => stringAt(one, 'topologyKey'))
  const counted = cluster.nodes.filter(
    (one) => wants(one, pod) && keys.every((key) => labelsOf(one)[key] !== undefined),
  )
  return constraints.every((constraint) => {
    const key = stringAt(constraint, 'topologyKey')
    const place = labelsOf(node)[key]
    if (place === undefined) return false
    const countIn = (where: Json | undefined): number =>
      cluster.pods.filter(
        (one) =>
          isRunning(one) &&
          stringAt(one, 'metadata', 'deletionTimestamp') === '' &&
          isSelected({ labelSelector: objectAt(constraint, 'labelSelector') }, pod, one) &&
          counted.some((other) => other === nodeOf(one, cluster) && labelsOf(other)[key] === where),
      ).length
    const places = [...new Set(counted.map((one) => labelsOf(one)[key]))]
    const least = places.length === 0 ? 0 : Math.min(...places.map(countIn))
    const own = isSelected({ labelSelector: objectAt(constraint, 'labelSelector') }, pod, pod)
    return countIn(place) + (own ? 1 : 0) - least <= Number(valueAt(constraint, 'maxSkew'))
  })
}
