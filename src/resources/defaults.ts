import { defaultConfigMap, defaultSecret } from './defaults/data.ts'
import { defaultDeployment } from './defaults/deployment.ts'
import { defaultEndpointSlice, defaultEndpoints } from './defaults/endpoints.ts'
import { defaultNamespace } from './defaults/namespace.ts'
import { defaultNetworkPolicy } from './defaults/network-policy.ts'
import { defaultNode } from './defaults/node.ts'
import { defaultPod } from './defaults/pod.ts'
import { defaultBinding } from './defaults/rbac.ts'
import { defaultService } from './defaults/service.ts'
import type { Raw } from './raw.ts'

const DEFAULTS: ReadonlyMap<string, (raw: Raw) => Raw> = new Map([
  ['Service', defaultService],
  ['Endpoints', defaultEndpoints],
  ['EndpointSlice', defaultEndpointSlice],
  ['Pod', defaultPod],
  ['Node', defaultNode],
  ['Namespace', defaultNamespace],
  ['ConfigMap', defaultConfigMap],
  ['Secret', defaultSecret],
  ['RoleBinding', defaultBinding],
  ['ClusterRoleBinding', defaultBinding],
  ['NetworkPolicy', defaultNetworkPolicy],
  ['Deployment', defaultDeployment],
])

/**
 * The object with the fields that its kind fills in when they are absent or
 * empty, in the form in which it is stored. What has the wrong type is left as
 * it is, for validation to refuse.
 */
export function applyDefaults(kind: string, raw: Raw): Raw {
  return DEFAULTS.get(kind)?.(raw) ?? raw
}
