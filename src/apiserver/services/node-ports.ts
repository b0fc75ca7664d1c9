import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  stringAt,
  valueAt,
  without,
} from '../../lib/json.ts'
import type { AllocationPool } from './allocation-pool.ts'
import { nodePortKey, numberAt, protocolOf } from './claim.ts'
import type { Filled } from './filled.ts'
import { invalidValue } from './invalid-value.ts'
import { PORT_BAND, staticBand } from './static-band.ts'

export interface PortRange {
  readonly first: number
  readonly last: number
}

export interface PortPolicy {
  readonly range: PortRange
  readonly pool: AllocationPool
}

/**
 * Decides a Service's node ports: those it asks for, else those that the same
 * port had, else free ones. A Service that no longer needs them loses them.
 */
export function fillNodePorts(spec: JsonObject, old: JsonObject, policy: PortPolicy): Filled {
  const ports = arrayAt(spec, 'ports').filter(isJsonObject)
  const before = arrayAt(old, 'ports').filter(isJsonObject)
  if (!mayHaveNodePorts(spec)) return dropNodePorts(spec, ports, before)
  const filled: JsonObject[] = []
  const mine = new Set<string>()
  for (const [index, port] of ports.entries()) {
    const asked = numberAt(port, 'nodePort')
    const wanted =
      asked ||
      heldBy(before, port) ||
      (needsNodePorts(spec) ? choose(port, filled, mine, policy) : 0)
    const problem = problemWith(wanted, {
      port,
      mine,
      before,
      policy,
      needed: needsNodePorts(spec),
    })
    if (problem !== undefined) {
      return { cause: invalidValue(`spec.ports[${index}].nodePort`, wanted, problem) }
    }
    if (wanted !== 0) mine.add(nodePortKey(protocolOf(port), wanted))
    filled.push(wanted === 0 ? without(port, 'nodePort') : { ...port, nodePort: wanted })
  }
  return fillHealthCheckPort({ ...spec, ports: filled }, old, mine, policy)
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
  before: readonly JsonObject[],
): Filled {
  for (const [index, port] of ports.entries()) {
    const asked = numberAt(port, 'nodePort')
    if (asked !== 0 && !before.some((one) => numberAt(one, 'nodePort') === asked)) {
      const message = `may not be used when \`type\` is ${JSON.stringify(stringAt(spec, 'type'))}`
      return { cause: invalidValue(`spec.ports[${index}].nodePort`, asked, message) }
    }
  }
  const cleared = ports.map((port) => without(port, 'nodePort'))
  return {
    spec: {
      ...without(spec, 'healthCheckNodePort'),
      ...(ports.length > 0 ? { ports: cleared } : {}),
    },
  }
}

function heldBy(before: readonly JsonObject[], port: JsonObject): number {
  const same = before.find(
    (one) => one['port'] === port['port'] && protocolOf(one) === protocolOf(port),
  )
  return same === undefined ? 0 : numberAt(same, 'nodePort')
}

/** One Service may use one number for several protocols, and prefers to. */
function choose(
  port: JsonObject,
  filled: readonly JsonObject[],
  mine: ReadonlySet<string>,
  policy: PortPolicy,
): number {
  const protocol = protocolOf(port)
  const isFree = (number: number): boolean => {
    const key = nodePortKey(protocol, number)
    return policy.pool.isFree(key) && !mine.has(key)
  }
  const twin = filled.find((one) => one['port'] === port['port'])
  const shared = twin === undefined ? 0 : numberAt(twin, 'nodePort')
  if (shared !== 0 && isFree(shared)) return shared
  const { first, last } = policy.range
  const size = last - first + 1
  const band = staticBand(size, PORT_BAND)
  const index = policy.pool.choose(size, (one) => isFree(first + one), band)
  return index === undefined ? 0 : first + index
}

interface PortContext {
  readonly port: JsonObject
  readonly mine: ReadonlySet<string>
  readonly before: readonly JsonObject[]
  readonly policy: PortPolicy
  readonly needed: boolean
}

function problemWith(wanted: number, context: PortContext): string | undefined {
  const { port, mine, before, policy, needed } = context
  const { first, last } = policy.range
  if (wanted === 0) return needed ? `no port of the range ${first}-${last} is free` : undefined
  if (mine.has(nodePortKey(protocolOf(port), wanted))) return 'provided port is already allocated'
  const had = before.some((one) => numberAt(one, 'nodePort') === wanted)
  if (had || (wanted >= first && wanted <= last)) return undefined
  return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
}

function fillHealthCheckPort(
  spec: JsonObject,
  old: JsonObject,
  mine: ReadonlySet<string>,
  policy: PortPolicy,
): Filled {
  const type = stringAt(spec, 'type')
  const local = stringAt(spec, 'externalTrafficPolicy') === 'Local'
  if (type !== 'LoadBalancer' || !local) return { spec: without(spec, 'healthCheckNodePort') }
  const port: JsonObject = { protocol: 'TCP' }
  const wanted =
    numberAt(spec, 'healthCheckNodePort') ||
    numberAt(old, 'healthCheckNodePort') ||
    choose(port, [], mine, policy)
  const before = [{ nodePort: numberAt(old, 'healthCheckNodePort') }]
  const problem = problemWith(wanted, { port, mine, before, policy, needed: true })
  if (problem !== undefined)
    return { cause: invalidValue('spec.healthCheckNodePort', wanted, problem) }
  return { spec: { ...spec, healthCheckNodePort: wanted } }
}
