import { isDeepEqual } from '../../../lib/equal.ts'
import { parseIp } from '../../../lib/ip.ts'
import {
  arrayAt,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
  without,
} from '../../../lib/json.ts'
import type { PortRange } from '../../../lib/port-range.ts'
import type { Random } from '../../../lib/random.ts'
import { NAMES } from '../../../resources/names.ts'
import type { Operation } from '../../../storage/store.ts'
import { type AddressRange, createAddressRange } from '../../allocation/address-range.ts'
import { addressKey, allocationFor, describeKey } from '../../allocation/allocation-keys.ts'
import { AllocationPool } from '../../allocation/allocation-pool.ts'
import type { AllocationPlan, Allocator } from '../../resource/resource.ts'
import { forbiddenValue, invalidValue, type StatusCause } from '../../status/status.ts'
import { clusterIPCapture, newlyCaptured } from './captured-addresses.ts'
import { addressTakenCause, fillClusterIPs } from './cluster-ips.ts'
import { type Filled, keysHeldBy } from './held-keys.ts'
import { fillNodePorts } from './node-ports.ts'

/** The fields that only some types of Services have. */
const TYPE_FIELDS: readonly TypeField[] = [
  {
    name: 'externalTrafficPolicy',
    isOf: isExternal,
    refuse: because('may only be set for externally-accessible services'),
  },
  {
    name: 'healthCheckNodePort',
    isOf: (spec) => isBalanced(spec) && stringAt(spec, 'externalTrafficPolicy') === 'Local',
    refuse: because(
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ),
  },
  { name: 'allocateLoadBalancerNodePorts', isOf: isBalanced, refuse: notBalanced },
  { name: 'loadBalancerClass', isOf: isBalanced, refuse: notBalanced },
  { name: 'loadBalancerSourceRanges', isOf: isBalanced, refuse: notBalanced },
]

const INGRESS = ['status', 'loadBalancer', 'ingress']

export interface AllocatorOptions {
  /** One CIDR per family, the primary family first. */
  readonly ranges: readonly string[]
  readonly nodePorts: PortRange
  readonly random: Random
}

/**
 * The limit of addresses and node ports of one Service, and of those that one write may change: etcd accepts at
 * most 128 operations in a transaction, and some are needed for other purposes.
 */
const MAX_KEYS = 120

/**
 * Allocates ClusterIPs and node ports for Services. Each allocation is a key of the store that is written in
 * the same transaction as the Service, and only if the key was absent. So none is allocated twice or leaked,
 * however many servers write.
 */
export class ServiceAllocator implements Allocator {
  readonly pool: AllocationPool
  /** One range per family, the primary family first. */
  readonly ranges: readonly AddressRange[]
  readonly #nodePorts: PortRange

  constructor(options: AllocatorOptions) {
    this.pool = new AllocationPool(options.random)
    this.ranges = options.ranges.map(createAddressRange)
    this.#nodePorts = options.nodePorts
  }

  /** Plans the write of `next`, which replaces `old` under the storage key `owner`. */
  plan(owner: string, next: JsonObject, old: JsonObject | undefined): AllocationPlan | StatusCause {
    const { pool } = this
    const before = objectAt(old, 'spec')
    const captured = clusterIPCapture(newlyCaptured(next, old), this.ranges)
    if (captured !== undefined) return captured
    const proper = dropTypeFields(next, old)
    if ('cause' in proper) return proper.cause
    const addresses = fillClusterIPs(proper.spec, before, { ranges: this.ranges, pool })
    if ('cause' in addresses) return addresses.cause
    const ports = fillNodePorts(addresses.spec, before, { range: this.#nodePorts, pool })
    if ('cause' in ports) return ports.cause
    const status = dropIngress(next, old)
    if ('cause' in status) return status.cause
    const object = { ...status.object, spec: ports.spec }
    const held = keysHeldBy(object)
    const changes = difference(owner, held, old ? keysHeldBy(old) : new Set())
    const size = Math.max(held.size, changes.operations.length)
    return size > MAX_KEYS ? tooManyCause(object, size) : { object, ...changes }
  }

  /** The ranges that this server allocates from, in words. */
  get described(): Readonly<Record<'address' | 'port', string>> {
    const { first, last } = this.#nodePorts
    return { address: this.ranges.map(({ cidr }) => cidr).join(','), port: `${first}-${last}` }
  }

  /** Whether an address or port is in the current ranges. */
  isInRange(key: string): boolean {
    const { kind, text } = describeKey(key)
    if (kind === 'address') {
      const ip = parseIp(text)
      return ip !== undefined && this.ranges.some((range) => range.contains(ip))
    }
    const port = Number.parseInt(text, 10)
    return port >= this.#nodePorts.first && port <= this.#nodePorts.last
  }

  /**
   * To be called when a planned key turned out to be taken. Returns the cause for the refusal if the client
   * named it; undefined: another key can be tried.
   */
  taken(key: string, requested: JsonObject): StatusCause | undefined {
    this.pool.note(key)
    const named = withAddresses(requested)
    if (!keysHeldBy(named).has(key)) return undefined
    const { clusterIPs, ports } = objectAt(named, 'spec')
    const ips = Array.isArray(clusterIPs) ? clusterIPs.map(String) : []
    const ip = ips.find((one) => addressKey(one) === key)
    if (ip !== undefined) return addressTakenCause(ips, ip)
    const port = Number(key.slice(key.lastIndexOf('/') + 1))
    const index = Array.isArray(ports)
      ? ports.findIndex((one) => objectAt(one)['nodePort'] === port)
      : -1
    const field = index < 0 ? 'spec.healthCheckNodePort' : `spec.ports[${index}].nodePort`
    return invalidValue(field, port, 'provided port is already allocated')
  }
}

function tooManyCause(service: JsonObject, size: number): StatusCause {
  const ports = arrayAt(service, 'spec', 'ports').length
  const message = `one write may give and take ${MAX_KEYS} addresses and node ports, this one takes ${size}: use fewer ports with node ports, or change them in several steps`
  return invalidValue('spec.ports', `${ports} ports`, message)
}

/** The Service with `clusterIPs`: `clusterIP` alone stands for a list of one. */
function withAddresses(service: JsonObject): JsonObject {
  const spec = objectAt(service, 'spec')
  if (arrayAt(spec, 'clusterIPs').length > 0 || typeof spec['clusterIP'] !== 'string')
    return service
  return { ...service, spec: { ...spec, clusterIPs: [spec['clusterIP']] } }
}

function difference(owner: string, wanted: ReadonlySet<string>, held: ReadonlySet<string>) {
  const claimed = [...wanted].filter((key) => !held.has(key))
  const released = [...held].filter((key) => !wanted.has(key))
  const value = allocationFor(owner)
  const operations: Operation[] = [
    ...claimed.map((key): Operation => ({ op: 'put', key, value })),
    ...released.map((key): Operation => ({ op: 'delete', key })),
  ]
  return { compare: claimed.map((key) => ({ key, modRevision: 0 })), operations }
}

/**
 * Only a Service of type LoadBalancer has addresses of a load balancer. A write that changes the type removes
 * them; a write that sets them for another type is refused.
 */
function dropIngress(
  next: JsonObject,
  old: JsonObject | undefined,
): { readonly object: JsonObject } | { readonly cause: StatusCause } {
  const ingress = arrayAt(next, ...INGRESS)
  if (ingress.length === 0 || stringAt(next, 'spec', 'type') === 'LoadBalancer') {
    return { object: next }
  }
  if (!isDeepEqual(ingress, arrayAt(old, ...INGRESS))) {
    const message = 'may only be set for a Service of type LoadBalancer'
    return { cause: invalidValue(INGRESS.join('.'), ingress, message) }
  }
  const loadBalancer = without(objectAt(next, 'status', 'loadBalancer'), 'ingress')
  return { object: { ...next, status: { ...objectAt(next, 'status'), loadBalancer } } }
}

interface TypeField {
  readonly name: string
  readonly isOf: (spec: JsonObject) => boolean
  /** Makes the cause with which the field is refused for another type. */
  readonly refuse: (field: string, value: unknown) => StatusCause
}

/**
 * Removes fields that have no meaning for the type of the Service. A write that changes the type and leaves
 * them unchanged loses them; a write that sets them is refused. Annotations belong to the client and are never
 * removed.
 */
export function dropTypeFields(service: JsonObject, old: JsonObject | undefined): Filled {
  const [spec, before] = [objectAt(service, 'spec'), objectAt(old, 'spec')]
  const foreign = TYPE_FIELDS.filter(({ name, isOf }) => isGiven(spec, name) && !isOf(spec))
  const requested = foreign.find(({ name }) => !isDeepEqual(spec[name], before[name]))
  if (requested !== undefined)
    return { cause: requested.refuse(`spec.${requested.name}`, spec[requested.name]) }
  const annotation = isBalanced(spec) ? undefined : rangesAnnotation(service)
  if (annotation !== undefined) return { cause: notBalanced(`metadata.annotations[${annotation}]`) }
  const left = isLeftName(spec, before) ? ['externalName'] : []
  return { spec: without(spec, ...foreign.map(({ name }) => name), ...left) }
}

/**
 * The name of the annotation that means the same as `loadBalancerSourceRanges`, if the Service has it under
 * either name.
 */
function rangesAnnotation(service: JsonObject): string | undefined {
  const annotations = objectAt(service, 'metadata', 'annotations')
  return NAMES.sourceRanges.find((name) => Object.hasOwn(annotations, name))
}

function because(why: string): TypeField['refuse'] {
  return (field, value) => invalidValue(field, value, why)
}

function notBalanced(field: string): StatusCause {
  return forbiddenValue(field, "may only be used when `type` is 'LoadBalancer'")
}

/**
 * Whether `externalName` is left over from type ExternalName. Clients may set it in any Service; after a change
 * of type the old one is removed.
 */
function isLeftName(spec: JsonObject, old: JsonObject): boolean {
  const isNamed = (one: JsonObject): boolean => stringAt(one, 'type') === 'ExternalName'
  return isNamed(old) && !isNamed(spec) && spec['externalName'] === old['externalName']
}

function isGiven(spec: JsonObject, name: string): boolean {
  const value = valueAt(spec, name)
  const isEmpty = Array.isArray(value) && value.length === 0
  return !isEmpty && !['', 0, undefined].some((none) => value === none)
}

function isBalanced(spec: JsonObject): boolean {
  return stringAt(spec, 'type') === 'LoadBalancer'
}

function isExternal(spec: JsonObject): boolean {
  const type = stringAt(spec, 'type')
  if (type === 'ClusterIP') return arrayAt(spec, 'externalIPs').length > 0
  return type === 'NodePort' || type === 'LoadBalancer'
}
