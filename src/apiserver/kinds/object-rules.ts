import { validate, validateSuccessor } from '../../resources/decode.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Problem } from '../../resources/problem.ts'
import type { Raw } from '../../resources/raw.ts'
import type { Reader } from '../../resources/reader.ts'
import { checkConfigMap } from './config-map/validation.ts'
import { checkDeployment } from './deployment/validation.ts'
import { checkEndpointSlice } from './endpoint-slice/validation.ts'
import { checkEndpoints } from './endpoints/validation.ts'
import { checkEvent } from './event/validation.ts'
import { checkLease } from './lease/validation.ts'
import { checkNetworkPolicy } from './network-policy/validation.ts'
import { checkNode } from './node/validation.ts'
import { checkPod } from './pod/validation.ts'
import { checkClusterRole, checkRole } from './role/validation.ts'
import { checkClusterRoleBinding, checkRoleBinding } from './role-binding/validation.ts'
import { checkSecret } from './secret/validation.ts'
import { checkService } from './service/validation.ts'
import { checkServiceAccount } from './service-account/validation.ts'

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
