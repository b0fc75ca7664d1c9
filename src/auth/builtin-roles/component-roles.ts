import { CERTIFICATES_GROUP } from '../../resources/api-groups.ts'
import { KUBELET_CLIENT_ROLE, NODE_READER_ROLE } from '../user.ts'
import { type BuiltinRole, READ, type RoleRule, resourceRule } from './role-object.ts'

/** The rules for writing Events, in both API groups that serve them. */
const RECORD: readonly RoleRule[] = ['', 'events.k8s.io'].map((group) =>
  resourceRule(['create', 'patch', 'update'], group, 'events'),
)

/** The verbs of a client that lists objects and then watches their changes. */
const FOLLOW = ['list', 'watch']
/** The verbs for every write. `get` is for reading an object again after a conflict. */
const CHANGE = ['create', 'delete', 'get', 'patch', 'update']
/**
 * For node-proxy: what it watches, and its Events. The same rules as in `config/kubernetes/node-proxy/rbac.yaml` and in
 * `components/network-policy`, which permits it to enforce NetworkPolicies.
 */
const PROXY: BuiltinRole = {
  name: 'system:node-proxier',
  rules: [
    resourceRule(FOLLOW, '', 'endpoints', 'services'),
    resourceRule(READ, '', 'nodes'),
    resourceRule(FOLLOW, 'discovery.k8s.io', 'endpointslices'),
    resourceRule(FOLLOW, 'networking.k8s.io', 'servicecidrs', 'networkpolicies'),
    resourceRule(FOLLOW, 'policy.networking.k8s.io', 'clusternetworkpolicies'),
    resourceRule(FOLLOW, '', 'pods', 'namespaces'),
    ...RECORD,
  ],
}

/** For a DNS server of the cluster: what it watches. */
const CLUSTER_DNS: BuiltinRole = {
  name: 'system:cluster-dns',
  rules: [
    resourceRule(FOLLOW, '', 'endpoints', 'services'),
    resourceRule(FOLLOW, 'discovery.k8s.io', 'endpointslices'),
  ],
}

/**
 * For the user `NODE_CLIENT`, as which orch-server reads from nodes for its clients. Kubernetes' role for that,
 * system:kubelet-api-admin, permits more.
 */
const NODE_READER: BuiltinRole = {
  name: NODE_READER_ROLE,
  rules: [resourceRule(['get'], '', 'nodes/proxy')],
}

/** For the user `KUBELET_CLIENT`, as which orch-server connects to kubelets: everything that these serve. */
const KUBELET_ADMIN: BuiltinRole = {
  name: KUBELET_CLIENT_ROLE,
  rules: [
    resourceRule([...READ, 'proxy'], '', 'nodes'),
    resourceRule(
      ['*'],
      '',
      'nodes/configz',
      'nodes/healthz',
      'nodes/log',
      'nodes/metrics',
      'nodes/pods',
      'nodes/proxy',
      'nodes/stats',
    ),
  ],
}

const REQUESTS = 'certificatesigningrequests'

/** For kubelets that have no certificate yet. */
const BOOTSTRAPPER: BuiltinRole = {
  name: 'system:node-bootstrapper',
  rules: [resourceRule(['create', ...READ], CERTIFICATES_GROUP, REQUESTS)],
}

/**
 * Users whose requests for the client certificate of a node are approved: of any node, and of the node that the user
 * is already.
 */
const APPROVED: readonly BuiltinRole[] = ['nodeclient', 'selfnodeclient'].map((subresource) => ({
  name: `system:certificates.k8s.io:${REQUESTS}:${subresource}`,
  rules: [resourceRule(['create'], CERTIFICATES_GROUP, `${REQUESTS}/${subresource}`)],
}))

/**
 * The rules of the controllers. Each key is the name of a service account in kube-system; the role of the account is
 * named `system:controller:NAME`. A controller may `get` what it writes, to read it again after a conflict. It reads
 * everything else as `controllers-reader`. Some rules are used only by kube-controller-manager, which runs with these
 * roles, too; a test in `src/controllers` compares the rules with their use and lists these rules.
 */
const CONTROLLERS: Readonly<Record<string, readonly RoleRule[]>> = {
  'controllers-reader': [
    resourceRule(
      FOLLOW,
      '',
      'configmaps',
      'endpoints',
      'namespaces',
      'nodes',
      'pods',
      'secrets',
      'serviceaccounts',
      'services',
    ),
    resourceRule(
      FOLLOW,
      'apps',
      'controllerrevisions',
      'daemonsets',
      'deployments',
      'replicasets',
      'statefulsets',
    ),
    resourceRule(FOLLOW, 'batch', 'jobs'),
    resourceRule(FOLLOW, CERTIFICATES_GROUP, 'certificatesigningrequests'),
    resourceRule(FOLLOW, 'coordination.k8s.io', 'leases'),
    resourceRule(FOLLOW, 'discovery.k8s.io', 'endpointslices'),
    resourceRule(FOLLOW, 'networking.k8s.io', 'networkpolicies'),
    resourceRule(FOLLOW, 'policy.networking.k8s.io', 'clusternetworkpolicies'),
    resourceRule(FOLLOW, 'node.k8s.io', 'runtimeclasses'),
    resourceRule(FOLLOW, 'policy', 'poddisruptionbudgets'),
    resourceRule(FOLLOW, 'storage.k8s.io', 'csidrivers', 'csinodes', 'volumeattachments'),
    resourceRule(
      FOLLOW,
      'rbac.authorization.k8s.io',
      'clusterrolebindings',
      'clusterroles',
      'rolebindings',
      'roles',
    ),
  ],
  'certificate-controller': [
    resourceRule(['delete', ...READ], CERTIFICATES_GROUP, 'certificatesigningrequests'),
    resourceRule(
      ['patch', 'update'],
      CERTIFICATES_GROUP,
      'certificatesigningrequests/approval',
      'certificatesigningrequests/status',
    ),
    {
      ...resourceRule(['approve', 'sign'], CERTIFICATES_GROUP, 'signers'),
      resourceNames: [
        'kubernetes.io/kube-apiserver-client-kubelet',
        'kubernetes.io/kubelet-serving',
      ],
    },
    resourceRule(['create'], 'authorization.k8s.io', 'subjectaccessreviews'),
    ...RECORD,
  ],
  'clusterrole-aggregation-controller': [
    resourceRule(
      ['escalate', ...READ, 'patch', 'update'],
      'rbac.authorization.k8s.io',
      'clusterroles',
    ),
  ],
  'daemon-set-controller': [
    resourceRule(READ, 'apps', 'daemonsets'),
    resourceRule(['patch', 'update'], 'apps', 'daemonsets/status'),
    resourceRule(['update'], 'apps', 'daemonsets/finalizers'),
    resourceRule([...CHANGE, 'list', 'watch'], 'apps', 'controllerrevisions'),
    resourceRule(FOLLOW, '', 'nodes'),
    resourceRule(['create', 'delete', ...READ, 'patch'], '', 'pods'),
    resourceRule(['create'], '', 'pods/binding'),
    ...RECORD,
  ],
  'deployment-controller': [
    resourceRule([...READ, 'patch', 'update'], 'apps', 'deployments'),
    resourceRule(['patch', 'update'], 'apps', 'deployments/status'),
    resourceRule(['update'], 'apps', 'deployments/finalizers'),
    resourceRule([...CHANGE, 'list', 'watch'], 'apps', 'replicasets'),
    resourceRule([...READ, 'update'], '', 'pods'),
    ...RECORD,
  ],
  'disruption-controller': [
    resourceRule(READ, '', 'pods'),
    resourceRule(['patch', 'update'], '', 'pods/status'),
    resourceRule(READ, 'policy', 'poddisruptionbudgets'),
    resourceRule(['patch', 'update'], 'policy', 'poddisruptionbudgets/status'),
    ...RECORD,
  ],
  'endpoint-controller': [
    resourceRule(READ, '', 'pods', 'services'),
    resourceRule([...CHANGE, 'list'], '', 'endpoints'),
    resourceRule(['create'], '', 'endpoints/restricted'),
    ...RECORD,
  ],
  'endpointslice-controller': [
    resourceRule(READ, '', 'nodes', 'pods', 'services'),
    resourceRule(['update'], '', 'services/finalizers'),
    resourceRule(['patch'], '', 'services/status'),
    resourceRule([...CHANGE, 'list'], 'discovery.k8s.io', 'endpointslices'),
    resourceRule(['create'], 'discovery.k8s.io', 'endpointslices/restricted'),
    ...RECORD,
  ],
  'endpointslicemirroring-controller': [
    resourceRule(READ, '', 'endpoints', 'services'),
    resourceRule(['update'], '', 'endpoints/finalizers', 'services/finalizers'),
    resourceRule([...CHANGE, 'list'], 'discovery.k8s.io', 'endpointslices'),
    resourceRule(['create'], 'discovery.k8s.io', 'endpointslices/restricted'),
    ...RECORD,
  ],
  'generic-garbage-collector': [
    resourceRule(['delete', ...READ, 'patch', 'update'], '*', '*'),
    ...RECORD,
  ],
  'job-controller': [
    resourceRule([...READ, 'patch', 'update'], 'batch', 'jobs'),
    resourceRule(['patch', 'update'], 'batch', 'jobs/status'),
    resourceRule(['update'], 'batch', 'jobs/finalizers'),
    resourceRule(['create', 'delete', ...READ, 'patch'], '', 'pods'),
    ...RECORD,
  ],
  'namespace-controller': [
    resourceRule(['delete', ...READ], '', 'namespaces'),
    resourceRule(['patch', 'update'], '', 'namespaces/finalize', 'namespaces/status'),
    resourceRule(['delete', 'deletecollection', 'get', 'list'], '*', '*'),
  ],
  'node-controller': [
    resourceRule(['delete', 'get', 'list', 'patch', 'update'], '', 'nodes'),
    resourceRule(['patch', 'update'], '', 'nodes/status', 'pods/status'),
    resourceRule(['delete', 'get', 'list'], '', 'pods'),
    ...RECORD,
  ],
  'pod-garbage-collector': [
    resourceRule(['delete', ...READ], '', 'pods'),
    resourceRule(['patch'], '', 'pods/status'),
    resourceRule(['get', 'list'], '', 'nodes'),
  ],
  'replicaset-controller': [
    resourceRule(['get', 'list', 'update', 'watch'], 'apps', 'replicasets'),
    resourceRule(['patch', 'update'], 'apps', 'replicasets/status'),
    resourceRule(['update'], 'apps', 'replicasets/finalizers'),
    resourceRule(['create', 'delete', ...READ, 'patch'], '', 'pods'),
    ...RECORD,
  ],
  'root-ca-cert-publisher': [resourceRule(CHANGE, '', 'configmaps'), ...RECORD],
  scheduler: [
    resourceRule(['get'], '', 'pods'),
    resourceRule(['create'], '', 'pods/binding'),
    resourceRule(['patch'], '', 'pods/status'),
    resourceRule(['create'], '', 'events'),
  ],
  'service-account-controller': [resourceRule(['create', 'get'], '', 'serviceaccounts'), ...RECORD],
  'service-controller': [
    resourceRule(READ, '', 'services'),
    resourceRule(FOLLOW, '', 'nodes'),
    resourceRule(['patch', 'update'], '', 'services/status'),
    ...RECORD,
  ],
  'statefulset-controller': [
    resourceRule(READ, 'apps', 'statefulsets'),
    resourceRule(['patch', 'update'], 'apps', 'statefulsets/status'),
    resourceRule(['update'], 'apps', 'statefulsets/finalizers'),
    resourceRule([...CHANGE, 'list', 'watch'], 'apps', 'controllerrevisions'),
    resourceRule([...CHANGE, 'list', 'watch'], '', 'pods'),
    ...RECORD,
  ],
  'tokens-controller': [
    resourceRule(['delete', 'get', 'patch'], '', 'secrets'),
    resourceRule(['get'], '', 'serviceaccounts'),
  ],
  'ttl-after-finished-controller': [resourceRule(['delete', ...READ], 'batch', 'jobs'), ...RECORD],
}

/** The rule for leader election by a Lease. */
const LEADER = resourceRule(['create', 'get', 'patch', 'update'], 'coordination.k8s.io', 'leases')

/**
 * For kube-controller-manager itself. It requests a token for the account of each of its controllers. With this token
 * the controller has the role of the account.
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
  CLUSTER_DNS,
  NODE_READER,
  KUBELET_ADMIN,
  BOOTSTRAPPER,
  ...APPROVED,
  CONTROLLER_MANAGER,
  ...Object.entries(CONTROLLERS).map(([name, rules]) => ({
    name: `system:controller:${name}`,
    rules,
  })),
]

/** The names of the controllers' accounts in kube-system. */
export const controllerAccounts: readonly string[] = Object.keys(CONTROLLERS)
