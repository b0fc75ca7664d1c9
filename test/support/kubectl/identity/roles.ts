import { printed } from '../printed.ts'
import type { Line } from '../scenes.ts'

const HEADER = [
  'PolicyRule:',
  '  Resources  Non-Resource URLs  Resource Names  Verbs',
  '  ---------  -----------------  --------------  -----',
]

function describedRole(name: string, ...rules: readonly string[]): RegExp {
  return printed(
    `Name:         ${name}`,
    'Labels:       <none>',
    'Annotations:  <none>',
    ...HEADER,
    ...rules,
  )
}

export const ROLES: readonly Line[] = [
  [
    'kubectl create role reader --verb=get,list,watch --resource=pods,pods/log',
    printed('role.rbac.authorization.k8s.io/reader created'),
  ],
  [
    'kubectl create role named --verb=get --resource=configmaps --resource-name=a --resource-name=b',
    printed('role.rbac.authorization.k8s.io/named created'),
  ],
  [
    'kubectl create role deployer --verb=create,update --resource=deployments.apps/scale',
    printed('role.rbac.authorization.k8s.io/deployer created'),
  ],
  [
    '! kubectl create role bad --verb=get --resource=nonsense',
    printed(`the server doesn't have a resource type "nonsense"`),
  ],
  [
    '! kubectl create role reader --verb=get --resource=pods',
    printed(
      'Error from server (AlreadyExists): roles.rbac.authorization.k8s.io "reader" already exists',
    ),
  ],
  [
    'kubectl get role',
    printed('NAME CREATED AT', 'deployer <time>', 'named <time>', 'reader <time>'),
  ],
  ['kubectl get role named -o wide', printed('NAME CREATED AT', 'named <time>')],
  [
    'kubectl describe role reader',
    describedRole('reader', '  pods/log [] [] [get list watch]', '  pods [] [] [get list watch]'),
  ],
  [
    'kubectl describe role named',
    describedRole('named', '  configmaps [] [a] [get]', '  configmaps [] [b] [get]'),
  ],
  [
    'kubectl describe role deployer',
    describedRole('deployer', '  deployments.apps/scale [] [] [create update]'),
  ],
  [
    'kubectl create clusterrole $NS-health --verb=get --non-resource-url=/healthz,/livez/*',
    printed('clusterrole.rbac.authorization.k8s.io/<ns> created'),
  ],
  [
    'kubectl describe clusterrole $NS-health',
    describedRole('<ns>', '  [/healthz] [] [get]', '  [/livez/*] [] [get]'),
  ],
  [
    'kubectl create clusterrole $NS-all --aggregation-rule=example.com/to=$NS',
    printed('clusterrole.rbac.authorization.k8s.io/<ns> created'),
  ],
  ['kubectl create clusterrole $NS-nodes --verb=get,list --resource=nodes', /created/],
  ['kubectl label clusterrole $NS-nodes example.com/to=$NS', /labeled/],
  [
    "kubectl wait clusterrole/$NS-all --for=jsonpath='{.rules[0].resources[0]}'=nodes --timeout=30s",
    printed('clusterrole.rbac.authorization.k8s.io/<ns> condition met'),
  ],
  ['kubectl describe clusterrole $NS-all', describedRole('<ns>', '  nodes [] [] [get list]')],
  ['kubectl get clusterrole $NS-all', printed('NAME CREATED AT', '<ns> <time>')],
  [
    'kubectl get clusterrole cluster-admin edit view --no-headers -o name',
    /cluster-admin\n.*edit\n/,
  ],
  [
    'kubectl describe clusterrole cluster-admin',
    printed(
      'Name:         cluster-admin',
      'Labels:       kubernetes.io/bootstrapping=rbac-defaults',
      'Annotations:  rbac.authorization.kubernetes.io/autoupdate: true',
      ...HEADER,
      '  *.* [] [] [*]',
      '  [*] [] [*]',
    ),
  ],
]

const BINDING = 'rolebinding.rbac.authorization.k8s.io'

function describedBinding(
  name: string,
  [kind, role]: readonly [string, string],
  ...subjects: readonly string[]
): RegExp {
  return printed(
    `Name:         ${name}`,
    'Labels:       <none>',
    'Annotations:  <none>',
    'Role:',
    `  Kind:  ${kind}`,
    `  Name:  ${role}`,
    'Subjects:',
    '  Kind Name Namespace',
    '  ---- ---- ---------',
    ...subjects,
  )
}

export const BINDINGS: readonly Line[] = [
  [
    'kubectl create rolebinding many --role=reader --serviceaccount=$NS:robot --user=ann --user=bob --group=devs',
    printed(`${BINDING}/many created`),
  ],
  [
    'kubectl create rolebinding viewers --clusterrole=view --group=auditors',
    printed(`${BINDING}/viewers created`),
  ],
  [
    '! kubectl create rolebinding many --role=other --user=ann',
    printed(
      'error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io "many" already exists',
    ),
  ],
  [
    'kubectl get rolebinding',
    printed('NAME ROLE AGE', 'many Role/reader <age>', 'viewers ClusterRole/view <age>'),
  ],
  [
    'kubectl get rolebinding -o wide',
    printed(
      'NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS',
      'many Role/reader <age> ann, bob devs <ns>/robot',
      'viewers ClusterRole/view <age> auditors',
    ),
  ],
  [
    'kubectl describe rolebinding many',
    describedBinding(
      'many',
      ['Role', 'reader'],
      '  User ann',
      '  User bob',
      '  Group devs',
      '  ServiceAccount robot <ns>',
    ),
  ],
  [
    'kubectl describe rolebinding viewers',
    describedBinding('viewers', ['ClusterRole', 'view'], '  Group auditors'),
  ],
  [
    'kubectl set subject rolebinding viewers --user=eve',
    printed(`${BINDING}/viewers subjects updated`),
  ],
  ['kubectl get rolebinding viewers -o wide --no-headers', / eve +auditors +\n$/],
  [
    `! kubectl patch rolebinding many -p '{"roleRef":{"name":"other"}}'`,
    /^The RoleBinding "many" is invalid: roleRef: Invalid value: .*field is immutable/,
  ],
  [
    'kubectl create clusterrolebinding $NS --clusterrole=view --user=$NS --serviceaccount=$NS:robot',
    printed('clusterrolebinding.rbac.authorization.k8s.io/<ns> created'),
  ],
  [
    'kubectl get clusterrolebinding $NS -o wide',
    printed(
      'NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS',
      '<ns> ClusterRole/view <age> <ns> <ns>/robot',
    ),
  ],
  [
    'kubectl describe clusterrolebinding $NS',
    describedBinding('<ns>', ['ClusterRole', 'view'], '  User <ns>', '  ServiceAccount robot <ns>'),
  ],
  [
    'kubectl get clusterrolebinding cluster-admin -o wide',
    printed(
      'NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS',
      'cluster-admin ClusterRole/cluster-admin <age> system:masters',
    ),
  ],
  ['kubectl delete rolebinding many', printed(`${BINDING} "many" deleted`)],
]
