import { defaultConfigMap, defaultSecret } from '../apiserver/kinds/secret/defaults.ts'
import { defaultDeployment } from '../apiserver/kinds/deployment/defaults.ts'
import { defaultEndpointSlice, defaultEndpoints } from '../apiserver/kinds/endpoints/defaults.ts'
import { defaultNamespace } from '../apiserver/kinds/namespace/defaults.ts'
import { defaultNetworkPolicy } from '../apiserver/kinds/network-policy/defaults.ts'
import { defaultNode } from '../apiserver/kinds/node/defaults.ts'
import { defaultPod } from '../apiserver/kinds/shared/pod-spec/defaults.ts'
import { defaultBinding } from '../apiserver/kinds/role-binding/defaults.ts'
import { defaultService } from '../apiserver/kinds/service/defaults.ts'
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
