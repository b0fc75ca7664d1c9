import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'

export function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name')
}

export function namespaceOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'namespace')
}

/** `namespace/name`, or the name of an object without a namespace. */
export function keyOf(object: JsonObject): string {
  const namespace = namespaceOf(object)
  return namespace === '' ? nameOf(object) : `${namespace}/${nameOf(object)}`
}

/** The labels; values that are not strings are left out. */
export function labelsOf(object: JsonObject): Readonly<Record<string, string>> {
  return texts(objectAt(object, 'metadata', 'labels'))
}

/** The selector of a Service. Undefined if it has none: then no controller derives its endpoints from Pods. */
export function selectorOf(service: JsonObject): Readonly<Record<string, string>> | undefined {
  const selector = texts(objectAt(service, 'spec', 'selector'))
  return Object.keys(selector).length === 0 ? undefined : selector
}

export function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value)
}

/** The labels as text: `app=web,tier=front`. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

/** Whether a Pod should serve: it has not ended, and is not being deleted. */
export function isPresent(pod: JsonObject): boolean {
  const phase = stringAt(pod, 'status', 'phase')
  const isLeaving = stringAt(pod, 'metadata', 'deletionTimestamp') !== ''
  return phase !== 'Succeeded' && phase !== 'Failed' && !isLeaving
}

export function isReady(pod: JsonObject): boolean {
  return stringAt(conditionOf(pod, 'Ready'), 'status') === 'True'
}

/** The condition of this type in the status; an empty object if there is none. */
export function conditionOf(object: JsonObject, type: string): JsonObject {
  const conditions = arrayAt(object, 'status', 'conditions')
  return objectAt(conditions.find((one) => stringAt(one, 'type') === type))
}

function texts(object: JsonObject): Readonly<Record<string, string>> {
  const pairs = Object.entries(object).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(pairs) as Record<string, string>
}

/** The ports that the containers of a Pod declare. */
export function declaredPorts(pod: JsonObject): readonly Json[] {
  // An init container with restartPolicy Always (a sidecar) declares ports, too.
  return ['containers', 'initContainers']
    .flatMap((list) => arrayAt(pod, 'spec', list))
    .flatMap((container) => arrayAt(container, 'ports'))
}

/** The number of the Pod's port to which a Service port leads; undefined: the Pod has no port of that name. */
export function targetNumber(port: Json, pod: JsonObject): number | undefined {
  const target = scalarText(valueAt(port, 'targetPort') ?? valueAt(port, 'port'))
  if (/^\d+$/.test(target)) return Number(target)
  return numberOfName(target, pod)
}

/** The number of the port that a Pod gives a name. */
export function numberOfName(name: string, pod: JsonObject): number | undefined {
  const declared = declaredPorts(pod).find((one) => stringAt(one, 'name') === name)
  const number = valueAt(declared, 'containerPort')
  return typeof number === 'number' ? number : undefined
}
