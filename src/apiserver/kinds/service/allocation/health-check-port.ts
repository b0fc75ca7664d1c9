import { type JsonObject, stringAt, without } from '../../../../lib/json.ts'
import { nodePortKey } from '../../../allocation/allocation-keys.ts'
import { invalidValue } from '../../../status/causes.ts'
import type { Filled } from './filled.ts'
import { keysHeldBy, numberAt } from './held-keys.ts'
import { choosePort, type PortPolicy, portProblem } from './port-policy.ts'

const FIELD = 'healthCheckNodePort'

/**
 * Decides where a load balancer checks the health of a node: only one with
 * local traffic does. The port is of the same range as the node ports.
 */
export function fillHealthCheckPort(spec: JsonObject, old: JsonObject, policy: PortPolicy): Filled {
  if (!isRequested(spec)) return { spec: without(spec, FIELD) }
  const mine = keysHeldBy({ spec: without(spec, FIELD) })
  const isMine = (number: number): boolean => mine.has(nodePortKey('TCP', number))
  const isFree = (number: number): boolean =>
    policy.pool.isFree(nodePortKey('TCP', number)) && !isMine(number)
  const had = numberAt(old, FIELD)
  const number = numberAt(spec, FIELD) || had || choosePort(policy, isFree)
  const wrong = number === had ? undefined : portProblem(number, policy.range)
  const problem = isMine(number) ? 'provided port is already allocated' : wrong
  if (problem !== undefined) return { cause: invalidValue(`spec.${FIELD}`, number, problem) }
  return { spec: { ...spec, [FIELD]: number } }
}

function isRequested(spec: JsonObject): boolean {
  const isLocal = stringAt(spec, 'externalTrafficPolicy') === 'Local'
  return isLocal && stringAt(spec, 'type') === 'LoadBalancer'
}
