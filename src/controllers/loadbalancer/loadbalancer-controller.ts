import { isDeepEqual } from '../../lib/equal.ts'
import { parseIp } from '../../lib/ip.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/condition-names.ts'
import {
  conditionMatches,
  setCondition,
  type WantedCondition,
} from '../../resources/status-condition.ts'
import { WAITING_GROUP } from '../cache/collections.ts'
import type { ObjectChange } from '../cache/object-cache.ts'
import type { View } from '../cache/view.ts'
import { byAge } from '../objects/by-age.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'
import { eventWrite } from '../runner/writing/event-write.ts'
import type { Patch } from '../runner/writing/write.ts'
import { otherHolders, usesAddressPools } from './address-holders.ts'
import { type AddressPool, isInPools } from './address-pool.ts'
import { type Assignment, assign } from './assignment.ts'

const NAME = 'loadbalancer'

const ASSIGNED: WantedCondition = {
  type: LOAD_BALANCER_CONDITION,
  status: 'True',
  reason: 'Assigned',
  message: 'The Service has its addresses.',
}

const NOT_WANTED: WantedCondition = {
  type: LOAD_BALANCER_CONDITION,
  status: 'Unknown',
  reason: 'NotWanted',
  message: 'The Service is not of type LoadBalancer.',
}

/**
 * Assigns addresses of the pools to Services of type LoadBalancer. The assignments are stored only in the
 * status of the Services. One worker reconciles one Service after another, so that each reconcile sees the
 * assignments before it. Without a pool the controller does nothing: another one may assign addresses.
 */
export function createLoadBalancerController(pools: readonly AddressPool[]): Controller {
  return {
    name: NAME,
    account: 'service-controller',
    workers: 1,
    watches: pools.length === 0 ? {} : { services: serviceAffects },
    reconcile(key, view, now) {
      const service = view.services.get(key)
      if (service === undefined) return SETTLED
      if (usesAddressPools(service))
        return writeAssignment(service, assign({ service, pools, view }), now)
      return service.loadBalancer.isRequested ? SETTLED : removeAssignment(service, pools, now)
    },
  }
}

/**
 * The Service; other Services with one of its addresses; and, when it gave up an address, those that wait
 * for one, the oldest first.
 */
function serviceAffects(
  { key, before, after }: ObjectChange<ServiceObject>,
  view: View,
): readonly string[] {
  const held = after?.loadBalancer.ingress ?? []
  const isFreed = before?.loadBalancer.ingress.some((ip) => !held.includes(ip)) ?? false
  const others = after === undefined ? [] : held.flatMap((ip) => otherHolders(after, ip, view))
  const waiting = isFreed ? [...view.services.group(WAITING_GROUP)].toSorted(byAge) : []
  return [key, ...[...others, ...waiting].map(({ meta }) => meta.key)]
}

function writeAssignment(
  service: ServiceObject,
  assignment: Assignment,
  now: number,
): Reconciliation {
  const { addresses, problem } = assignment
  const { condition } = service.loadBalancer
  const wanted: WantedCondition = problem
    ? { type: LOAD_BALANCER_CONDITION, status: 'False', ...problem }
    : ASSIGNED
  const isSettled =
    isDeepEqual(addresses, service.loadBalancer.ingress) && conditionMatches(condition, wanted)
  if (isSettled) return SETTLED
  const patch = statusPatch(service, addresses, { wanted, now })
  if (problem === undefined || problem.reason === condition.reason) return { writes: [patch] }
  const subject = { apiVersion: 'v1', kind: 'Service', meta: service.meta }
  const content = { controller: NAME, type: 'Warning', ...problem } as const
  return { writes: [patch, eventWrite(subject, content, now)] }
}

/**
 * Removes the addresses of a Service that is no longer of type LoadBalancer, if one is of a pool or this
 * controller reported on them. Its condition becomes Unknown.
 */
function removeAssignment(
  service: ServiceObject,
  pools: readonly AddressPool[],
  now: number,
): Reconciliation {
  const { ingress, condition } = service.loadBalancer
  const hasAddress = ingress.some((text) => {
    const ip = parseIp(text)
    return ip !== undefined && isInPools(ip, pools)
  })
  const isReported = condition.status === 'True' || condition.status === 'False'
  if (!hasAddress && !isReported) return SETTLED
  return { writes: [statusPatch(service, [], { wanted: NOT_WANTED, now })] }
}

function statusPatch(
  { meta, loadBalancer }: ServiceObject,
  addresses: readonly string[],
  { wanted, now }: { readonly wanted: WantedCondition; readonly now: number },
): Patch {
  const condition = setCondition(loadBalancer.condition, wanted, now)
  const ingress = addresses.length === 0 ? null : addresses.map((ip) => ({ ip }))
  const status = { loadBalancer: { ingress }, conditions: [condition] }
  return { verb: 'patch', collection: 'services', meta, subresource: 'status', body: { status } }
}
