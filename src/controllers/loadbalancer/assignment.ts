import type { Family, IpAddress } from '../../lib/ip.ts'
import { familyOf, parseIp } from '../../lib/ip.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import type { View } from '../cache/view.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import type { AddressPool } from './address-pool.ts'
import { keeps, rivals } from './holders.ts'

/** The addresses that a Service is to have; `problem` if it requests more. */
export interface Assignment {
  readonly addresses: readonly IpAddress[]
  readonly problem?: AssignmentProblem
}

export interface AssignmentProblem {
  readonly reason: 'AddressNotUsable' | 'AddressInUse' | 'PoolExhausted'
  /** One sentence. */
  readonly message: string
}

interface Scene {
  readonly service: ServiceObject
  readonly pools: readonly AddressPool[]
  readonly view: View
}

/**
 * One address for each IP family: the requested one, else the one that it has,
 * else the first free one. A Service that requests an unavailable address
 * gets no other, but keeps the one that it has. A family without a pool is left out as
 * long as another has one.
 */
export function assign(scene: Scene): Assignment {
  const { service, pools } = scene
  const problem = requestProblem(scene)
  const pooled = service.families.filter((family) => pools.some((pool) => pool.family === family))
  const families = pooled.length > 0 ? pooled : service.families
  const found = families.map((family) => ({ family, ip: choose(scene, family, problem) }))
  const addresses = found.flatMap(({ ip }) => ip ?? [])
  if (problem !== undefined) return { addresses, problem }
  const missing = found.find(({ ip }) => ip === undefined)
  if (missing === undefined) return { addresses }
  const message = `No pool has an IPv${missing.family} address left.`
  return { addresses, problem: { reason: 'PoolExhausted', message } }
}

function choose(
  scene: Scene,
  family: Family,
  problem: AssignmentProblem | undefined,
): IpAddress | undefined {
  const requested = requestedIp(scene.service)
  const isRequested = requested !== undefined && familyOf(requested) === family
  if (isRequested && problem === undefined) return requested
  const kept = keptAddress(scene, family)
  if (kept !== undefined || problem !== undefined) return kept
  return firstFree(scene, family)
}

/** Why the requested address is not available. */
function requestProblem({ service, pools, view }: Scene): AssignmentProblem | undefined {
  const { requested } = service.loadBalancer
  const ip = requestedIp(service)
  if (requested === '') return undefined
  const name = JSON.stringify(requested)
  if (ip === undefined || !service.families.includes(familyOf(ip)) || !isPooled(ip, pools)) {
    const message = `spec.loadBalancerIP ${name} is in no pool of an IP family of the Service.`
    return { reason: 'AddressNotUsable', message }
  }
  const isTaken = !keeps(service, ip, view) && rivals(service, ip, view).length > 0
  if (!isTaken) return undefined
  const message = `spec.loadBalancerIP ${name} belongs to another Service.`
  return { reason: 'AddressInUse', message }
}

function requestedIp({ loadBalancer }: ServiceObject): IpAddress | undefined {
  return parseLegacyIp(loadBalancer.requested)
}

function keptAddress({ service, pools, view }: Scene, family: Family): IpAddress | undefined {
  return service.loadBalancer.ingress
    .flatMap((text) => parseIp(text) ?? [])
    .find((ip) => familyOf(ip) === family && isPooled(ip, pools) && keeps(service, ip, view))
}

function firstFree({ service, pools, view }: Scene, family: Family): IpAddress | undefined {
  for (const pool of pools.filter((one) => one.family === family)) {
    for (const ip of pool.addresses()) {
      if (rivals(service, ip, view).length === 0) return ip
    }
  }
  return undefined
}

function isPooled(ip: IpAddress, pools: readonly AddressPool[]): boolean {
  return pools.some((pool) => pool.contains(ip))
}
