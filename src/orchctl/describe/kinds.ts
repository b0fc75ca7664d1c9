import { stringAt } from '../../lib/json.ts'
import {
  describeBinding,
  describeConfigMap,
  describeRole,
  describeSecret,
  describeServiceAccount,
} from './accounts.ts'
import type { DescribedKind } from './describer.ts'
import { describeNode } from './nodes.ts'
import { rowsOfFields } from './other-kinds.ts'
import { describePod } from './pods.ts'
import { describeNetworkPolicy } from './policies.ts'
import { describeEndpointSlice, describeEndpoints, describeService } from './services.ts'
import { describeDeployment } from './workloads.ts'

/** How each kind is described, by group and kind; in Kubernetes' name of the group. */
const KINDS: Readonly<Record<string, DescribedKind>> = {
  '/ConfigMap': { describe: describeConfigMap },
  '/Endpoints': { describe: describeEndpoints },
  '/Namespace': { describe: (object) => [['Status', stringAt(object, 'status', 'phase')]] },
  '/Node': { describe: describeNode },
  '/Pod': { describe: describePod },
  '/Secret': { describe: describeSecret },
  '/Service': { describe: describeService },
  '/ServiceAccount': { describe: describeServiceAccount },
  'apps/Deployment': { describe: describeDeployment },
  'discovery.k8s.io/EndpointSlice': { describe: describeEndpointSlice },
  'networking.k8s.io/NetworkPolicy': { describe: describeNetworkPolicy },
  'rbac.authorization.k8s.io/ClusterRole': { describe: describeRole, hasEvents: false },
  'rbac.authorization.k8s.io/ClusterRoleBinding': { describe: describeBinding, hasEvents: false },
  'rbac.authorization.k8s.io/Role': { describe: describeRole, hasEvents: false },
  'rbac.authorization.k8s.io/RoleBinding': { describe: describeBinding, hasEvents: false },
}

const OTHER: DescribedKind = { describe: rowsOfFields }

/** `group`: also in the words of orch, `rbac.authorization.orch.io`. */
export function describedKind(group: string, kind: string): DescribedKind {
  return KINDS[`${group.replace(/\.orch\.io$/, '.k8s.io')}/${kind}`] ?? OTHER
}
