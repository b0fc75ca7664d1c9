import type { Family, IpAddress } from '../../lib/ip.ts'
import { familyOf, parseIp } from '../../lib/ip.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import type { View } from '../cache/view.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import { keepsAddress, otherHolders } from './address-holders.ts'
import { type AddressPool, isInPools } from './address-pool.ts'

/** The addresses that a Service is to have; `problem`: why it does not get all that it requests. */
export interface Assignment {
  readonly addresses: readonly IpAddress[]
  readonly problem?: AssignmentProblem
}

/** Reason and message of the condition and of the Event. */
export interface AssignmentProblem {
  readonly reason: 'AddressNotUsable' | 'AddressInUse' | 'PoolExhausted'
  /** One sentence. */
  readonly message: string
}

interface AssignmentInput {
  readonly service: ServiceObject
  readonly pools: readonly AddressPool[]
  readonly view: View
}

/**
 * Assigns one address for each IP family of the Service: the requested one, else the present one, else
 * the first free one. A Service that requests an unavailable address gets no new address, and keeps its
 * present one. A family without a pool is left out, unless no family of the Service has one.
 */
export function assign(input: AssignmentInput): Assignment {
  const { service, pools } = input
  const problem = requestProblem(input)
  const withPool = service.families.filter((family) => pools.some((pool) => pool.family === family))
  const families = withPool.length > 0 ? withPool : service.families
  const found = families.map((family) => ({ family, ip: addressFor(input, family, problem) }))
  const addresses = found.flatMap(({ ip }) => ip ?? [])
  if (problem !== undefined) return { addresses, problem }
  const missing = found.find(({ ip }) => ip === undefined)
  if (missing === undefined) return { addresses }
  const message = `No pool has an IPv${missing.family} address left.`
  return { addresses, problem: { reason: 'PoolExhausted', message } }
}

function addressFor(
  input: AssignmentInput,
  family: Family,
  problem: AssignmentProblem | undefined,
): IpAddress | undefined {
  const requested = requestedIP(input.service)
  const isOfFamily = requested !== undefined && familyOf(requested) === family
  if (isOfFamily && problem === undefined) return requested
  const kept = keptAddress(input, family)
  if (kept !== undefined || problem !== undefined) return kept
  return firstFree(input, family)
}

/** Why the requested address is not available; undefined: it is, or none is requested. */
function requestProblem({ service, pools, view }: AssignmentInput): AssignmentProblem | undefined {
  const requested = service.loadBalancer.requestedIP
  const ip = requestedIP(service)
  if (requested === '') return undefined
  const name = JSON.stringify(requested)
  if (ip === undefined || !service.families.includes(familyOf(ip)) || !isInPools(ip, pools)) {
    const message = `spec.loadBalancerIP ${name} is in no pool of an IP family of the Service.`
    return { reason: 'AddressNotUsable', message }
  }
  const isTaken = !keepsAddress(service, ip, view) && otherHolders(service, ip, view).length > 0
  if (!isTaken) return undefined
  const message = `spec.loadBalancerIP ${name} belongs to another Service.`
  return { reason: 'AddressInUse', message }
}

function requestedIP({ loadBalancer }: ServiceObject): IpAddress | undefined {
  return parseLegacyIp(loadBalancer.requestedIP)
}

function keptAddress(
  { service, pools, view }: AssignmentInput,
  family: Family,
): IpAddress | undefined {
  return service.loadBalancer.ingress
    .flatMap((text) => parseIp(text) ?? [])
    .find(
      (ip) => familyOf(ip) === family && isInPools(ip, pools) && keepsAddress(service, ip, view),
    )
}

function firstFree(
  { service, pools, view }: AssignmentInput,
  family: Family,
): IpAddress | undefined {
  for (const pool of pools.filter((one) => one.family === family)) {
    for (const ip of pool.addresses()) {
      if (otherHolders(service, ip, view).length === 0) return ip
    }
  }
  return undefined
}
