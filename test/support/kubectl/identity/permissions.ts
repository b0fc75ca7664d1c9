import { printed } from '../printed.ts'
import type { Line } from '../scenes.ts'

const ROBOT = '--as=system:serviceaccount:$NS:robot'

/** The answer for which kubectl exits with 1; it still prints the word. */
const NO = printed('no')
const YES = printed('yes')

const GRANTS: readonly Line[] = [
  ['kubectl create sa robot', /created/],
  ['kubectl create role reader --verb=get,list,watch --resource=pods,pods/log', /created/],
  ['kubectl create role named --verb=get --resource=configmaps --resource-name=a', /created/],
  [
    'kubectl create rolebinding reader --role=reader --serviceaccount=$NS:robot --group=devs',
    /created/,
  ],
  ['kubectl create rolebinding named --role=named --serviceaccount=$NS:robot', /created/],
  ['kubectl create clusterrole $NS --verb=get --non-resource-url=/metrics,/logs/*', /created/],
  ['kubectl create clusterrolebinding $NS --clusterrole=$NS --serviceaccount=$NS:robot', /created/],
  ['kubectl create rolebinding broken --role=gone --user=ann', /created/],
]

export const CAN_I: readonly Line[] = [
  ...GRANTS,
  ["kubectl auth can-i '*' '*'", YES],
  ['kubectl auth can-i create deployments.apps -A', YES],
  [`kubectl auth can-i get pods ${ROBOT}`, YES],
  [`! kubectl auth can-i create pods ${ROBOT}`, NO],
  [`kubectl auth can-i create pods ${ROBOT}; test $? = 1`, NO],
  [`! kubectl auth can-i create pods ${ROBOT} --quiet`, /^$/],
  [`kubectl auth can-i list pods ${ROBOT} --quiet`, /^$/],
  [`! kubectl auth can-i get pods ${ROBOT} -n default`, NO],
  [`! kubectl auth can-i get pods ${ROBOT} -A`, NO],
  [`kubectl auth can-i get pods --subresource=log ${ROBOT}`, YES],
  [`! kubectl auth can-i create pods --subresource=exec ${ROBOT}`, NO],
  [`kubectl auth can-i get configmaps/a ${ROBOT}`, YES],
  [`! kubectl auth can-i get configmaps/b ${ROBOT}`, NO],
  [`! kubectl auth can-i get configmaps ${ROBOT}`, NO],
  [`kubectl auth can-i get /metrics ${ROBOT}`, YES],
  [`kubectl auth can-i get /logs/today ${ROBOT}`, YES],
  [`! kubectl auth can-i get /logs ${ROBOT}`, NO],
  [`! kubectl auth can-i delete /metrics ${ROBOT}`, NO],
  ['kubectl auth can-i get pods --as=ann --as-group=other --as-group=devs', YES],
  ['! kubectl auth can-i get pods --as=eve --as-group=other', NO],
  [
    '! kubectl auth can-i get pods --as=ann',
    printed('no - RBAC: role.rbac.authorization.k8s.io "gone" not found'),
  ],
  [
    '! kubectl auth can-i get nodes --as=eve',
    /^Warning: resource 'nodes' is not namespace scoped\n+no\n$/,
  ],
  [
    '! kubectl auth can-i get nonsense --as=eve',
    /^Warning: the server doesn't have a resource type 'nonsense'\n+no\n$/,
  ],
]

const HEADER = 'Resources +Non-Resource URLs +Resource Names +Verbs'

export const CAN_I_LIST: readonly Line[] = [
  ...GRANTS,
  [
    `kubectl auth can-i --list ${ROBOT}`,
    new RegExp(
      String.raw`^${HEADER}\n[^]*^ +\[/metrics\] +\[\] +\[get\]\n[^]*^configmaps +\[\] +\[a\] +\[get\]$`,
      'm',
    ),
  ],
  [
    `kubectl auth can-i --list ${ROBOT}`,
    /^pods\/log +\[\] +\[\] +\[get list watch\]\npods +\[\] +\[\] +\[get list watch\]$/m,
  ],
  [
    `kubectl auth can-i --list ${ROBOT}`,
    /^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]\nselfsubjectrulesreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]$/m,
  ],
  [`kubectl auth can-i --list ${ROBOT} -n default --no-headers | grep -c pods; true`, /^0\n$/],
  ['kubectl auth can-i --list --no-headers | head -2', printed('*.* [] [] [*]', ' [*] [] [*]')],
]

const ATTRIBUTES = 'ATTRIBUTE VALUE'

/** `kubectl auth whoami` of 1.27 names v1beta1. */
export const WHO_AM_I: readonly Line[] = [
  [
    'kubectl auth whoami',
    printed(ATTRIBUTES, 'Username orch-admin', 'Groups [system:masters system:authenticated]'),
  ],
  [
    `kubectl auth whoami ${ROBOT}`,
    printed(
      ATTRIBUTES,
      'Username system:serviceaccount:<ns>:robot',
      'Groups [system:serviceaccounts system:serviceaccounts:<ns> system:authenticated]',
    ),
  ],
  [
    'kubectl auth whoami --as=ann --as-group=devs --as-group=other --as-uid=7',
    printed(ATTRIBUTES, 'Username ann', 'UID 7', 'Groups [devs other system:authenticated]'),
  ],
  [
    'kubectl auth whoami --as=ann -o yaml',
    /^apiVersion: authentication\.k8s\.io\/v1(beta1)?\nkind: SelfSubjectReview\n[^]*^status:\n  userInfo:\n    groups:\n    - system:authenticated\n    username: ann\n$/m,
  ],
  ['kubectl auth whoami --as=ann -o jsonpath={.status.userInfo.username}', /^ann$/],
  ['! kubectl auth whoami --as=ann --as-group=devs --server=https://127.0.0.1:1', /refused/],
]

const FORBIDDEN = 'Error from server (Forbidden): '

export const REFUSALS: readonly Line[] = [
  ['kubectl create sa robot', /created/],
  [
    '! kubectl get pods --as=ann',
    printed(
      `${FORBIDDEN}pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "<ns>"`,
    ),
  ],
  [
    '! kubectl get secret s --as=ann',
    printed(
      `${FORBIDDEN}secrets "s" is forbidden: User "ann" cannot get resource "secrets" in API group "" in the namespace "<ns>"`,
    ),
  ],
  [
    '! kubectl get nodes --as=ann',
    printed(
      `${FORBIDDEN}nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the cluster scope`,
    ),
  ],
  [
    '! kubectl get --raw=/metrics --as=ann',
    printed(`${FORBIDDEN}forbidden: User "ann" cannot get path "/metrics"`),
  ],
  [
    '! kubectl create sa other --as=ann',
    printed(
      'error: failed to create serviceaccount: serviceaccounts is forbidden: User "ann" cannot create resource "serviceaccounts" in API group "" in the namespace "<ns>"',
    ),
  ],
  ['kubectl create rolebinding admins --clusterrole=admin --user=ann', /created/],
  ['kubectl create role own --verb=get --resource=pods --as=ann', /created/],
  [
    '! kubectl create role more --verb=get --resource=nodes --as=ann',
    /is forbidden: user "ann" \(groups=\["system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["nodes"\], Verbs:\["get"\]\}/,
  ],
  [
    '! kubectl create rolebinding more --clusterrole=cluster-admin --user=ann --as=ann',
    /is forbidden: user "ann" \(groups=\["system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:/,
  ],
  ['kubectl config set-credentials ann --token=none', /set/],
  ['! kubectl auth whoami --user=ann', /Unauthorized/],
  ['! kubectl get pods --user=ann', /error: You must be logged in to the server/],
]

const ROLE_RECONCILED = 'role.rbac.authorization.k8s.io/team reconciled'
const BINDING_RECONCILED = 'rolebinding.rbac.authorization.k8s.io/team reconciled'

function rule(verb: string): string {
  return `{Verbs:[${verb}] APIGroups:[] Resources:[pods] ResourceNames:[] NonResourceURLs:[]}`
}

function subject(name: string): string {
  return `{Kind:User APIGroup:rbac.authorization.k8s.io Name:${name} Namespace:}`
}

function created(mark = ''): RegExp {
  return printed(
    ROLE_RECONCILED + mark,
    '\treconciliation required create',
    '\tmissing rules added:',
    `\t\t${rule('get')}`,
    BINDING_RECONCILED + mark,
    '\treconciliation required create',
    '\tmissing subjects added:',
    `\t\t${subject('ann')}`,
  )
}

/** `kubectl auth reconcile` reads the namespace only from the file. */
export const RECONCILING: readonly Line[] = [
  ['sed "s/NAMESPACE/$NS/" team.template > team.yaml', /^$/],
  [
    'sed "s/\\[get\\]/[list]/; s/name: ann/name: bob/" team.yaml > next.yaml; sed "s/kind: Role, name: team/kind: ClusterRole, name: view/" team.yaml > other.yaml',
    /^$/,
  ],
  ['kubectl auth reconcile -f team.yaml --dry-run=client', created(' (dry run)')],
  ['! kubectl get role team', /NotFound/],
  ['kubectl auth reconcile -f team.yaml', created()],
  ['kubectl auth reconcile -f team.yaml', printed(ROLE_RECONCILED, BINDING_RECONCILED)],
  [
    'kubectl auth reconcile -f next.yaml',
    printed(
      ROLE_RECONCILED,
      '\treconciliation required update',
      '\tmissing rules added:',
      `\t\t${rule('list')}`,
      BINDING_RECONCILED,
      '\treconciliation required update',
      '\tmissing subjects added:',
      `\t\t${subject('bob')}`,
    ),
  ],
  ['kubectl describe role team', /pods +\[\] +\[\] +\[get list\]\n$/],
  [
    'kubectl auth reconcile -f next.yaml --remove-extra-permissions --remove-extra-subjects',
    printed(
      ROLE_RECONCILED,
      '\treconciliation required update',
      '\textra rules removed:',
      `\t\t${rule('get')}`,
      BINDING_RECONCILED,
      '\treconciliation required update',
      '\textra subjects removed:',
      `\t\t${subject('ann')}`,
    ),
  ],
  ['kubectl describe role team', /pods +\[\] +\[\] +\[list\]\n$/],
  ['kubectl get rolebinding team -o wide --no-headers', /^team +Role\/team +\S+ +bob +\n$/],
  [
    'kubectl auth reconcile -f other.yaml',
    printed(
      ROLE_RECONCILED,
      '\treconciliation required update',
      '\tmissing rules added:',
      `\t\t${rule('get')}`,
      BINDING_RECONCILED,
      '\treconciliation required recreate',
    ),
  ],
  ['kubectl get rolebinding team -o wide --no-headers', /^team +ClusterRole\/view +\S+ +ann +\n$/],
  [
    '! kubectl auth reconcile -f team.yaml --as=eve',
    /roles\.rbac\.authorization\.k8s\.io "team" is forbidden: User "eve" cannot get resource "roles" in API group "rbac\.authorization\.k8s\.io"/,
  ],
]
