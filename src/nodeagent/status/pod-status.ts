import type { IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { timestamp } from '../../lib/timestamp.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { phaseOf } from '../state/phase.ts'
import type { PodState } from '../state/pod-state.ts'
import { containerStatus } from './container-status.ts'
import { type ConditionsContext, podConditions } from './pod-conditions.ts'

/** What the status depends on besides the Pod. */
export interface StatusContext extends ConditionsContext {
  /** The addresses of the node; the first one is `hostIP`. */
  readonly hostIPs: readonly IpAddress[]
}

/** `status` of a Pod, as far as the node agent writes it. Pure. */
export function podStatus(plan: PodPlan, state: PodState, context: StatusContext): JsonObject {
  const { ips } = state.network
  return {
    phase: phaseOf(plan, state),
    conditions: podConditions(plan, state, context),
    ...addresses('host', context.hostIPs),
    ...(hasAddress(state) ? addresses('pod', ips) : {}),
    startTime: timestamp(state.startedAt),
    containerStatuses: plan.containers.map((container, index) => {
      return containerStatus(container, { plan, state }, state.containers[index])
    }),
  }
}

/** It had one: a Pod that ended keeps showing its last. */
function hasAddress({ network, containers }: PodState): boolean {
  return (
    network.ips.length > 0 && (network.phase !== 'none' || containers.some(({ run }) => run > 0))
  )
}

function addresses(whose: 'host' | 'pod', ips: readonly IpAddress[]): JsonObject {
  const [first] = ips
  if (first === undefined) return {}
  return { [`${whose}IP`]: first, [`${whose}IPs`]: ips.map((ip) => ({ ip })) }
}
