import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'

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
