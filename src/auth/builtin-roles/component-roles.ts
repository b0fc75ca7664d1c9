import { type BuiltinRole, READ, type RoleRule, resourceRule } from './role-object.ts'

/** Events, under both groups that serve them. */
const RECORD: readonly RoleRule[] = ['', 'events.k8s.io'].map((group) =>
  resourceRule(['create', 'patch', 'update'], group, 'events'),
)

const CHANGE = ['create', 'delete', 'get', 'patch', 'update']
const LEADER = resourceRule(['create', 'get', 'patch', 'update'], 'coordination.k8s.io', 'leases')

/** What the daemon reads and reports. */
const PROXY: BuiltinRole = {
  name: 'system:node-proxier',
  rules: [
    resourceRule(READ, '', 'endpoints', 'nodes', 'services'),
    resourceRule(READ, 'discovery.k8s.io', 'endpointslices'),
    ...RECORD,
  ],
}

/** One role for each controller, under the name of its account in kube-system. */
const CONTROLLERS: Readonly<Record<string, readonly RoleRule[]>> = {
  'clusterrole-aggregation-controller': [
    resourceRule(
      ['escalate', ...READ, 'patch', 'update'],
      'rbac.authorization.k8s.io',
      'clusterroles',
    ),
  ],
  'endpoint-controller': [
    resourceRule(READ, '', 'pods', 'services'),
    resourceRule([...CHANGE, 'list', 'watch'], '', 'endpoints'),
    resourceRule(['create'], '', 'endpoints/restricted'),
    ...RECORD,
  ],
  'endpointslice-controller': [
    resourceRule(READ, '', 'nodes', 'pods', 'services'),
    resourceRule(['update'], '', 'services/finalizers'),
    resourceRule([...CHANGE, 'list', 'watch'], 'discovery.k8s.io', 'endpointslices'),
    resourceRule(['create'], 'discovery.k8s.io', 'endpointslices/restricted'),
    ...RECORD,
  ],
  'endpointslicemirroring-controller': [
    resourceRule(READ, '', 'endpoints', 'services'),
    resourceRule(['update'], '', 'endpoints/finalizers'),
    resourceRule([...CHANGE, 'list', 'watch'], 'discovery.k8s.io', 'endpointslices'),
    resourceRule(['create'], 'discovery.k8s.io', 'endpointslices/restricted'),
    ...RECORD,
  ],
  'generic-garbage-collector': [
    resourceRule(['delete', ...READ, 'patch', 'update'], '*', '*'),
    ...RECORD,
  ],
  'namespace-controller': [
    resourceRule(['delete', ...READ], '', 'namespaces'),
    resourceRule(['update'], '', 'namespaces/finalize', 'namespaces/status'),
    resourceRule(['delete', 'deletecollection', 'get', 'list'], '*', '*'),
  ],
  'node-controller': [
    resourceRule(['delete', ...READ, 'patch', 'update'], '', 'nodes'),
    resourceRule(['patch', 'update'], '', 'nodes/status', 'pods/status'),
    resourceRule(['delete', ...READ], '', 'pods'),
    resourceRule(READ, 'coordination.k8s.io', 'leases'),
    ...RECORD,
  ],
  'pod-garbage-collector': [
    resourceRule(['delete', ...READ], '', 'pods'),
    resourceRule(['patch', 'update'], '', 'pods/status'),
    resourceRule(READ, '', 'nodes'),
  ],
  'root-ca-cert-publisher': [
    resourceRule(['create', 'update', ...READ], '', 'configmaps'),
    resourceRule(READ, '', 'namespaces'),
    ...RECORD,
  ],
  'service-account-controller': [
    resourceRule(['create', ...READ], '', 'serviceaccounts'),
    resourceRule(READ, '', 'namespaces'),
    ...RECORD,
  ],
  'service-controller': [
    resourceRule(READ, '', 'nodes', 'services'),
    resourceRule(['patch', 'update'], '', 'services/status'),
    ...RECORD,
  ],
  'tokens-controller': [
    resourceRule([...CHANGE, 'list', 'watch'], '', 'secrets'),
    resourceRule([...READ, 'patch', 'update'], '', 'serviceaccounts'),
    ...RECORD,
  ],
}

/**
 * kube-controller-manager itself: it makes tokens for the account of each of its controllers, and
 * what the controllers do is theirs.
 */
const CONTROLLER_MANAGER: BuiltinRole = {
  name: 'system:kube-controller-manager',
  rules: [
    ...RECORD,
    LEADER,
    resourceRule(['create', 'delete', 'get', 'update'], '', 'secrets', 'serviceaccounts'),
    resourceRule(['create'], '', 'serviceaccounts/token'),
    resourceRule(['get'], '', 'configmaps', 'namespaces'),
    resourceRule(['create'], 'authentication.k8s.io', 'tokenreviews'),
    resourceRule(['create'], 'authorization.k8s.io', 'subjectaccessreviews'),
    resourceRule(['list', 'watch'], '*', '*'),
  ],
}

/** The roles of programs: each lists exactly what its program reads and writes. */
export const componentRoles: readonly BuiltinRole[] = [
  PROXY,
  CONTROLLER_MANAGER,
  ...Object.entries(CONTROLLERS).map(([name, rules]) => ({
    name: `system:controller:${name}`,
    rules,
  })),
]

/** The names of the accounts in kube-system of which each is a controller's. */
export const controllerAccounts: readonly string[] = Object.keys(CONTROLLERS)
