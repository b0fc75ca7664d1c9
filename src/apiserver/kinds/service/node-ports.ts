import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  stringAt,
  valueAt,
  without,
} from '../../../lib/json.ts'
import { formatPortRange, type PortRange } from '../../../lib/port-range.ts'
import { nodePortKey } from '../../allocation/allocation-keys.ts'
import { type AllocationPool, PORT_BAND, staticBand } from '../../allocation/allocation-pool.ts'
import { forbiddenValue, invalidValue } from '../../status/status.ts'
import { type Filled, keysHeldBy, numberAt, protocolOf } from './held-keys.ts'

const HEALTH_CHECK = 'healthCheckNodePort'

/**
 * Decides the node ports of a Service. A Service of a type without node ports loses them. A Service of type
 * LoadBalancer with `allocateLoadBalancerNodePorts: false` has only those that it names.
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
      ...without(spec, HEALTH_CHECK),
      ...(ports.length > 0 ? { ports: cleared } : {}),
    },
  }
}

function nodePortCause(index: number, number: number, message: string) {
  return invalidValue(`spec.ports[${index}].nodePort`, number, message)
}

/**
 * Decides the port at which a load balancer checks the health of a node; only load balancers with local traffic
 * have one. It is taken from the range of node ports.
 */
function fillHealthCheckPort(spec: JsonObject, old: JsonObject, policy: PortPolicy): Filled {
  if (!needsHealthCheckPort(spec)) return { spec: without(spec, HEALTH_CHECK) }
  const mine = keysHeldBy({ spec: without(spec, HEALTH_CHECK) })
  const isMine = (number: number): boolean => mine.has(nodePortKey('TCP', number))
  const isFree = (number: number): boolean =>
    policy.pool.isFree(nodePortKey('TCP', number)) && !isMine(number)
  const had = numberAt(old, HEALTH_CHECK)
  const number = numberAt(spec, HEALTH_CHECK) || had || choosePort(policy, isFree)
  const wrong = number === had ? undefined : portProblem(number, policy.range)
  const problem = isMine(number) ? 'provided port is already allocated' : wrong
  if (problem !== undefined) return { cause: invalidValue(`spec.${HEALTH_CHECK}`, number, problem) }
  return { spec: { ...spec, [HEALTH_CHECK]: number } }
}

function needsHealthCheckPort(spec: JsonObject): boolean {
  const isLocal = stringAt(spec, 'externalTrafficPolicy') === 'Local'
  return isLocal && stringAt(spec, 'type') === 'LoadBalancer'
}

/**
 * The node port of each port of a Service: the one that it names, else the one that it had, else a free one; 0
 * if none is free. A port is identified by its name, else by its number and protocol. Named node ports are
 * assigned first, then the earlier ones, then free ones, so that no port takes one that another port names.
 */
function nodePortNumbers(spec: JsonObject, old: JsonObject, policy: PortPolicy): readonly number[] {
  const draft: Draft = {
    ports: arrayAt(spec, 'ports')
      .filter(isJsonObject)
      .map((port) => ({ port, number: numberAt(port, 'nodePort') })),
    before: arrayAt(old, 'ports').filter(isJsonObject),
    mine: new Set(keysHeldBy({ spec })),
    held: keysHeldBy({ spec: old }),
    policy,
  }
  fill(draft, (port) => keep(draft, port, hasSameName))
  fill(draft, (port) => keep(draft, port, hasSameNumber))
  fill(draft, (port) => choose(draft, port))
  return draft.ports.map(({ number }) => number)
}

interface Draft {
  /** Each port with its node port; 0: not decided yet. */
  readonly ports: readonly { readonly port: JsonObject; number: number }[]
  readonly before: readonly JsonObject[]
  /** The keys that the Service is to have, as far as they are decided. */
  readonly mine: Set<string>
  /** The keys that the Service already has. */
  readonly held: ReadonlySet<string>
  readonly policy: PortPolicy
}

function fill({ ports, mine }: Draft, propose: (port: JsonObject) => number): void {
  for (const entry of ports) {
    entry.number ||= propose(entry.port)
    if (entry.number !== 0) mine.add(nodePortKey(protocolOf(entry.port), entry.number))
  }
}

/** Keeps the earlier node port, unless the protocol changed and another Service has the number for the new one. */
function keep(
  { before, mine, held, policy }: Draft,
  port: JsonObject,
  isSame: (one: JsonObject, other: JsonObject) => boolean,
): number {
  const number = numberAt(before.find((one) => isSame(one, port)) ?? {}, 'nodePort')
  const key = nodePortKey(protocolOf(port), number)
  if (mine.has(key)) return 0
  return held.has(key) || policy.pool.isFree(key) ? number : 0
}

/** Chooses a node port. Ports with different protocols get the same number if possible. */
function choose({ ports, mine, policy }: Draft, port: JsonObject): number {
  const isFree = (number: number): boolean => {
    const key = nodePortKey(protocolOf(port), number)
    return policy.pool.isFree(key) && !mine.has(key)
  }
  const twins = ports.filter((one) => hasSamePort(one.port, port) && one.number !== 0)
  return twins.map(({ number }) => number).find(isFree) ?? choosePort(policy, isFree)
}

function hasSameName(one: JsonObject, other: JsonObject): boolean {
  return stringAt(one, 'name') === stringAt(other, 'name')
}

function hasSameNumber(one: JsonObject, other: JsonObject): boolean {
  return hasSamePort(one, other) && protocolOf(one) === protocolOf(other)
}

function hasSamePort(one: JsonObject, other: JsonObject): boolean {
  return one['port'] === other['port']
}

/** The range and the pool of node ports. */
interface PortPolicy {
  readonly range: PortRange
  readonly pool: AllocationPool
}

/** A free number of the range at random; 0 when there is none. */
function choosePort({ range, pool }: PortPolicy, isFree: (number: number) => boolean): number {
  const { first, last } = range
  const size = last - first + 1
  const index = pool.choose(size, (one) => isFree(first + one), staticBand(size, PORT_BAND))
  return index === undefined ? 0 : first + index
}

/** Why a node port cannot be allocated. `number` 0: none is free. */
function portProblem(number: number, range: PortRange): string | undefined {
  if (number === 0) return `no port of the range ${formatPortRange(range)} is free`
  if (number >= range.first && number <= range.last) return undefined
  return `provided port is not in the valid range. The range of valid ports is ${formatPortRange(range)}`
}
