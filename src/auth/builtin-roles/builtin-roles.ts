import type { JsonObject } from '../../lib/json.ts'
import { NODE_CLIENT, NODE_READER_ROLE } from '../node-client.ts'
import { AUTHENTICATED, MASTERS, UNAUTHENTICATED } from '../user.ts'
import { componentRoles, controllerAccounts } from './component-roles.ts'
import { type BuiltinBinding, bindingObject, roleObject } from './role-object.ts'
import { commonRoles, userRoles } from './user-roles.ts'

const BINDINGS: readonly BuiltinBinding[] = [
  { name: 'cluster-admin', groups: [MASTERS] },
  { name: 'system:discovery', groups: [AUTHENTICATED] },
  { name: 'system:public-info-viewer', groups: [AUTHENTICATED, UNAUTHENTICATED] },
  { name: 'system:basic-user', groups: [AUTHENTICATED] },
  { name: 'system:service-account-issuer-discovery', groups: ['system:serviceaccounts'] },
  { name: 'system:monitoring', groups: ['system:monitoring'] },
  { name: 'system:node-proxier', users: ['system:kube-proxy'] },
  { name: 'system:cluster-dns', users: ['system:cluster-dns'] },
  { name: NODE_READER_ROLE, users: [NODE_CLIENT] },
  { name: 'system:kube-controller-manager', users: ['system:kube-controller-manager'] },
  ...controllerAccounts.map((account) => ({
    name: `system:controller:${account}`,
    accounts: [`kube-system/${account}`],
  })),
]

/** The ClusterRoles that every cluster has, as they are stored. */
export const builtinRoles: readonly JsonObject[] = [
  ...userRoles,
  ...commonRoles,
  ...componentRoles,
].map(roleObject)

/** The ClusterRoleBindings that every cluster has, as they are stored. */
export const builtinBindings: readonly JsonObject[] = BINDINGS.map(bindingObject)
