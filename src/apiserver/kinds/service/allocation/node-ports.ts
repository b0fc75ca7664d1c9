import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  stringAt,
  valueAt,
  without,
} from '../../../../lib/json.ts'
import { forbiddenValue, invalidValue } from '../../../status/causes.ts'
import type { Filled } from './filled.ts'
import { fillHealthCheckPort } from './health-check-port.ts'
import { numberAt } from './held-keys.ts'
import { nodePortNumbers } from './node-port-numbers.ts'
import { type PortPolicy, portProblem } from './port-policy.ts'

/**
 * Decides a Service's node ports. One of a type without them loses them; a load
 * balancer that wants none allocated has those that it names and no others.
 */
export function fillNodePorts(spec: JsonObject, old: JsonObject, policy: PortPolicy): Filled {
  const ports = arrayAt(spec, 'ports').filter(isJsonObject)
  const before = new Set(nodePortsOf(old))
  if (!mayHaveNodePorts(spec)) return dropNodePorts(spec, ports, before)
  const isNeeded = needsNodePorts(spec)
  const numbers = isNeeded ? nodePortNumbers(spec, old, policy) : nodePortsOf(spec)
  const isSettled = (number: number): boolean => (number === 0 ? !isNeeded : before.has(number))
  for (const [index, number] of numbers.entries()) {
    const problem = isSettled(number) ? undefined : portProblem(number, policy.range)
    if (problem !== undefined) return { cause: nodePortCause(index, number, problem) }
  }
  const filled = ports.map((port, index) => {
    const nodePort = numbers[index]!
    return nodePort === 0 ? without(port, 'nodePort') : { ...port, nodePort }
  })
  return fillHealthCheckPort({ ...spec, ports: filled }, old, policy)
}

function nodePortsOf(spec: JsonObject): readonly number[] {
  const ports = arrayAt(spec, 'ports').filter(isJsonObject)
  return ports.map((port) => numberAt(port, 'nodePort'))
}

function mayHaveNodePorts(spec: JsonObject): boolean {
  return ['NodePort', 'LoadBalancer'].includes(stringAt(spec, 'type'))
}

function needsNodePorts(spec: JsonObject): boolean {
  const unwanted = valueAt(spec, 'allocateLoadBalancerNodePorts') === false
  return stringAt(spec, 'type') === 'NodePort' || !unwanted
}

function dropNodePorts(
  spec: JsonObject,
  ports: readonly JsonObject[],
  before: ReadonlySet<number>,
): Filled {
  for (const [index, number] of nodePortsOf(spec).entries()) {
    if (number === 0 || before.has(number)) continue
    const message = `may not be used when \`type\` is '${stringAt(spec, 'type')}'`
    return { cause: forbiddenValue(`spec.ports[${index}].nodePort`, message) }
  }
  const cleared = ports.map((port) => without(port, 'nodePort'))
  return {
    spec: {
      ...without(spec, 'healthCheckNodePort'),
      ...(ports.length > 0 ? { ports: cleared } : {}),
    },
  }
}

function nodePortCause(index: number, number: number, message: string) {
  return invalidValue(`spec.ports[${index}].nodePort`, number, message)
}
