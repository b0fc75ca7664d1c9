import type { JsonObject } from '../../lib/json.ts'
import { NODES } from '../node/node-authorizer.ts'
import {
  AUTHENTICATED,
  KUBELET_CLIENT,
  KUBELET_CLIENT_ROLE,
  MASTERS,
  NODE_CLIENT,
  NODE_READER_ROLE,
  UNAUTHENTICATED,
} from '../user.ts'
import { componentRoles, controllerAccounts } from './component-roles.ts'
import {
  type BuiltinBinding,
  type BuiltinRole,
  bindingObject,
  pathRule,
  READ,
  resourceRule,
  roleObject,
  WRITE,
} from './role-object.ts'

const EVERYTHING = [resourceRule(['*'], '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }]

/** Credentials with which kubelets request their first certificate. */
const BOOTSTRAPPERS = 'system:bootstrappers'

const AUTHENTICATION = 'authentication.k8s.io'
const AUTHORIZATION = 'authorization.k8s.io'

/** What a user of a namespace may read: everything except Secrets, Roles and RoleBindings. */
const VIEWED = [
  resourceRule(
    READ,
    '',
    'bindings',
    'configmaps',
    'endpoints',
    'events',
    'namespaces',
    'persistentvolumeclaims',
    'pods',
    'pods/log',
    'pods/status',
    'replicationcontrollers',
    'serviceaccounts',
    'services',
    'services/status',
  ),
  resourceRule(
    READ,
    'apps',
    'controllerrevisions',
    'daemonsets',
    'daemonsets/status',
    'deployments',
    'deployments/scale',
    'deployments/status',
    'replicasets',
    'replicasets/scale',
    'replicasets/status',
    'statefulsets',
    'statefulsets/scale',
    'statefulsets/status',
  ),
  resourceRule(READ, 'batch', 'jobs', 'jobs/status'),
  resourceRule(READ, 'discovery.k8s.io', 'endpointslices'),
  resourceRule(READ, 'networking.k8s.io', 'networkpolicies'),
  resourceRule(READ, 'policy', 'poddisruptionbudgets', 'poddisruptionbudgets/status'),
]

/**
 * What a user of a namespace may change. Never Endpoints and EndpointSlices: a user who writes those can send
 * the clients of a Service to an address of another namespace (CVE-2021-25740).
 */
const EDITED = [
  resourceRule(
    READ,
    '',
    'pods/attach',
    'pods/exec',
    'pods/portforward',
    'secrets',
    'services/proxy',
  ),
  resourceRule(['impersonate'], '', 'serviceaccounts'),
  resourceRule(['create'], '', 'serviceaccounts/token'),
  resourceRule(
    WRITE,
    '',
    'configmaps',
    'events',
    'pods',
    'pods/attach',
    'pods/exec',
    'pods/portforward',
    'secrets',
    'serviceaccounts',
    'services',
    'services/proxy',
  ),
  resourceRule(
    WRITE,
    'apps',
    'daemonsets',
    'deployments',
    'deployments/scale',
    'replicasets',
    'replicasets/scale',
    'statefulsets',
    'statefulsets/scale',
  ),
  resourceRule(WRITE, 'batch', 'jobs'),
  resourceRule(WRITE, 'networking.k8s.io', 'networkpolicies'),
  resourceRule(WRITE, 'policy', 'poddisruptionbudgets'),
  resourceRule(['create'], '', 'pods/eviction'),
]

const ADMINISTERED = [
  resourceRule(['create'], AUTHORIZATION, 'localsubjectaccessreviews'),
  resourceRule([...READ, ...WRITE], 'rbac.authorization.k8s.io', 'rolebindings', 'roles'),
]

/** The roles that people are given. */
const userRoles: readonly BuiltinRole[] = [
  { name: 'cluster-admin', rules: EVERYTHING },
  { name: 'admin', rules: [], isAggregated: true },
  { name: 'edit', rules: [], isAggregated: true, partOf: 'admin' },
  { name: 'view', rules: [], isAggregated: true, partOf: 'edit' },
  { name: 'system:aggregate-to-admin', rules: ADMINISTERED, partOf: 'admin' },
  { name: 'system:aggregate-to-edit', rules: EDITED, partOf: 'edit' },
  { name: 'system:aggregate-to-view', rules: VIEWED, partOf: 'view' },
]

/** The roles that every user has. */
const commonRoles: readonly BuiltinRole[] = [
  {
    name: 'system:discovery',
    rules: [
      pathRule(
        '/api',
        '/api/*',
        '/apis',
        '/apis/*',
        '/healthz',
        '/livez',
        '/openapi',
        '/openapi/*',
        '/readyz',
        '/version',
        '/version/',
      ),
    ],
  },
  {
    name: 'system:public-info-viewer',
    rules: [pathRule('/healthz', '/livez', '/readyz', '/version', '/version/')],
  },
  {
    name: 'system:basic-user',
    rules: [
      resourceRule(
        ['create'],
        AUTHORIZATION,
        'selfsubjectaccessreviews',
        'selfsubjectrulesreviews',
      ),
      resourceRule(['create'], AUTHENTICATION, 'selfsubjectreviews'),
    ],
  },
  {
    name: 'system:service-account-issuer-discovery',
    rules: [pathRule('/.well-known/openid-configuration', '/openid/v1/jwks')],
  },
  {
    name: 'system:monitoring',
    rules: [
      pathRule('/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', '/readyz', '/readyz/*'),
    ],
  },
  {
    name: 'system:auth-delegator',
    rules: [
      resourceRule(['create'], AUTHENTICATION, 'tokenreviews'),
      resourceRule(['create'], AUTHORIZATION, 'subjectaccessreviews'),
    ],
  },
]

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
  { name: KUBELET_CLIENT_ROLE, users: [KUBELET_CLIENT] },
  { name: 'system:node-bootstrapper', groups: [BOOTSTRAPPERS] },
  {
    name: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
    groups: [BOOTSTRAPPERS],
  },
  {
    name: 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
    groups: [NODES],
  },
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
