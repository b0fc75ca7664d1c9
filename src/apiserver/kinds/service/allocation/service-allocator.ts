import { parseIp } from '../../../../lib/ip.ts'
import { arrayAt, type JsonObject, objectAt } from '../../../../lib/json.ts'
import type { PortRange } from '../../../../lib/port-range.ts'
import type { Random } from '../../../../lib/random.ts'
import type { Operation } from '../../../../storage/store.ts'
import { type AddressRange, createAddressRange } from '../../../allocation/address-range.ts'
import { addressKey, allocationFor, describeKey } from '../../../allocation/allocation-keys.ts'
import { AllocationPool } from '../../../allocation/allocation-pool.ts'
import type { AllocationPlan, Allocator } from '../../../resource/allocation.ts'
import { invalidValue } from '../../../status/causes.ts'
import type { StatusCause } from '../../../status/status.ts'
import { clusterIPCapture, newlyCaptured } from './captured-addresses.ts'
import { addressTakenCause, fillClusterIPs } from './cluster-ips.ts'
import { keysHeldBy } from './held-keys.ts'
import { dropIngress } from './ingress.ts'
import { fillNodePorts } from './node-ports.ts'
import { dropTypeFields } from './type-fields.ts'

export interface AllocatorOptions {
  /** One CIDR per family, the primary family first. */
  readonly ranges: readonly string[]
  readonly nodePorts: PortRange
  readonly random: Random
}

/**
 * Addresses and node ports of one Service, and those that one write may change: etcd takes no
 * more than 128 operations in a transaction, and some are needed for other things.
 */
const MAX_KEYS = 120

/**
 * Gives Services their virtual addresses and node ports. Every one of them is
 * a key of the store, written in the same transaction as the Service and only
 * if it was absent: none is given twice or leaked, however many servers write.
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
    const hijack = clusterIPCapture(newlyCaptured(next, old), this.ranges)
    if (hijack !== undefined) return hijack
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

  /** What this server gives out, in words. */
  get described(): Readonly<Record<'address' | 'port', string>> {
    const { first, last } = this.#nodePorts
    return { address: this.ranges.map(({ cidr }) => cidr).join(','), port: `${first}-${last}` }
  }

  /** Whether an address or port is of those that Services get now. */
  gives(key: string): boolean {
    const { kind, text } = describeKey(key)
    if (kind === 'address') {
      const ip = parseIp(text)
      return ip !== undefined && this.ranges.some((range) => range.contains(ip))
    }
    const port = Number.parseInt(text, 10)
    return port >= this.#nodePorts.first && port <= this.#nodePorts.last
  }

  /**
   * A planned key turned out to be taken: the cause to refuse with when the
   * client named it, undefined when another one can be tried.
   */
  taken(key: string, requested: JsonObject): StatusCause | undefined {
    this.pool.note(key)
    if (!keysHeldBy(withAddresses(requested)).has(key)) return undefined
    const { clusterIPs, ports } = objectAt(withAddresses(requested), 'spec')
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

/** `clusterIP` alone means a list of one. */
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
