import { validate, validateSuccessor } from './decode.ts'
import { readMetadata } from './metadata.ts'
import type { Problem } from './problem.ts'
import type { Raw } from './raw.ts'
import type { Reader } from './reader.ts'
import { checkConfigMap } from './validation/config-map.ts'
import { checkDeployment } from './validation/deployment.ts'
import { checkEndpointSlice } from './validation/endpoint-slice.ts'
import { checkEndpoints } from './validation/endpoints.ts'
import { checkEvent } from './validation/event.ts'
import { checkLease } from './validation/lease.ts'
import { checkNetworkPolicy } from './validation/network-policy.ts'
import { checkNode } from './validation/node.ts'
import { checkPod } from './validation/pod.ts'
import { checkClusterRole, checkRole } from './validation/role.ts'
import { checkClusterRoleBinding, checkRoleBinding } from './validation/role-binding.ts'
import { checkSecret } from './validation/secret.ts'
import { checkService } from './validation/service.ts'
import { checkServiceAccount } from './validation/service-account.ts'

type Check = (object: Reader) => unknown

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['Service', checkService],
  ['Endpoints', checkEndpoints],
  ['EndpointSlice', checkEndpointSlice],
  ['Node', checkNode],
  ['Pod', checkPod],
  ['Event', checkEvent],
  ['ConfigMap', checkConfigMap],
  ['Secret', checkSecret],
  ['ServiceAccount', checkServiceAccount],
  ['Role', checkRole],
  ['ClusterRole', checkClusterRole],
  ['RoleBinding', checkRoleBinding],
  ['ClusterRoleBinding', checkClusterRoleBinding],
  ['NetworkPolicy', checkNetworkPolicy],
  ['Deployment', checkDeployment],
  ['Lease', checkLease],
  ['ServiceCIDR', (object) => readMetadata(object, { namespaced: false, name: 'subdomain' })],
  ['Namespace', (object) => readMetadata(object, { namespaced: false, name: 'label' })],
])

/**
 * Why an object may not be written; empty when it may. Stricter than decoding:
 * whatever a node would leave out with a warning is refused, and so is what
 * contradicts itself. A kind that is not known here only needs a proper name.
 * `old`: the stored object that it replaces; addresses with leading zeros may stay.
 */
export function validateObject(kind: string, raw: Raw, old?: Raw): readonly Problem[] {
  const check = CHECKS.get(kind) ?? checkName
  return old === undefined ? validate(raw, check) : validateSuccessor(raw, old, check)
}

function checkName(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
}
