import { printed } from '../printed.ts'
import type { Line } from '../scenes.ts'

const ACCOUNT = [
  'Name:                robot',
  'Namespace:           <ns>',
  'Labels:              <none>',
  'Annotations:         <none>',
]

/** `kubectl create token` since 1.24; a Node as the bound object since 1.29. */
export const ACCOUNTS: readonly Line[] = [
  ['kubectl create sa robot', printed('serviceaccount/robot created')],
  [
    '! kubectl create sa robot',
    printed('error: failed to create serviceaccount: serviceaccounts "robot" already exists'),
  ],
  ['kubectl get sa', printed('NAME SECRETS AGE', 'default 0 <age>', 'robot 0 <age>')],
  ['kubectl get sa robot -o wide', printed('NAME SECRETS AGE', 'robot 0 <age>')],
  ['kubectl get sa robot --no-headers', printed('robot 0 <age>')],
  [
    'kubectl get serviceaccount robot -o yaml',
    /^apiVersion: v1\nkind: ServiceAccount\nmetadata:\n(  .*\n)*  name: robot\n(  .*\n)*$/,
  ],
  [
    'kubectl describe sa robot',
    printed(
      ...ACCOUNT,
      'Image pull secrets:  <none>',
      'Mountable secrets:   <none>',
      'Tokens:              <none>',
      'Events:              <none>',
    ),
  ],
  [
    `kubectl patch sa robot -p '{"imagePullSecrets":[{"name":"reg"}],"secrets":[{"name":"s"}]}'`,
    printed('serviceaccount/robot patched'),
  ],
  ['kubectl create -f robot-token.yaml', printed('secret/robot-token created')],
  [
    "kubectl wait secret/robot-token --for=jsonpath='{.type}'=kubernetes.io/service-account-token",
    printed('secret/robot-token condition met'),
  ],
  ['kubectl get sa robot', printed('NAME SECRETS AGE', 'robot 1 <age>')],
  [
    'kubectl describe sa robot',
    printed(
      ...ACCOUNT,
      'Image pull secrets:  reg (not found)',
      'Mountable secrets:   s (not found)',
      'Tokens:              robot-token',
      'Events:              <none>',
    ),
  ],
  ['kubectl delete sa robot', printed('serviceaccount "robot" deleted')],
  [
    '! kubectl get sa robot',
    printed('Error from server (NotFound): serviceaccounts "robot" not found'),
  ],
]

export const TOKENS: readonly Line[] = [
  ['kubectl create sa robot', printed('serviceaccount/robot created')],
  ['kubectl create token robot', printed('<jwt>')],
  [
    'kubectl create token robot --duration=15m --audience=a --audience=b -o ' +
      'jsonpath={.kind}/{.spec.audiences}/{.spec.expirationSeconds}/{.metadata.name}',
    /^TokenRequest\/\["a","b"\]\/900\/robot$/,
  ],
  [
    '! kubectl create token robot --duration=5m',
    /^error: failed to create token: TokenRequest\.authentication\.k8s\.io "robot" is invalid: spec\.expirationSeconds: Invalid value: 300: /,
  ],
  [
    '! kubectl create token missing',
    printed('error: failed to create token: serviceaccounts "missing" not found'),
  ],
  ['kubectl create secret generic held', printed('secret/held created')],
  [
    'kubectl create token robot --bound-object-kind=Secret --bound-object-name=held ' +
      '-o jsonpath={.spec.boundObjectRef.kind}/{.spec.boundObjectRef.name}',
    /^Secret\/held$/,
  ],
  [
    '! kubectl create token robot --bound-object-kind=Pod --bound-object-name=gone',
    printed('error: failed to create token: pods "gone" not found'),
  ],
  [
    '! kubectl create token robot --bound-object-kind=Node --bound-object-name=gone',
    printed('error: failed to create token: nodes "gone" not found'),
    31,
  ],
  [
    '! kubectl create token robot --bound-object-kind=Secret --bound-object-name=held ' +
      '--bound-object-uid=00000000-0000-0000-0000-000000000000',
    /^error: failed to create token: Operation cannot be fulfilled on secrets "held": the UID in /,
  ],
  [
    'kubectl config set-credentials robot --token="$(kubectl create token robot)"',
    printed('User "robot" set.'),
  ],
  [
    'kubectl auth whoami --user=robot',
    new RegExp(
      `^ATTRIBUTE +VALUE\nUsername +system:serviceaccount:[^:]+:robot\nUID +[0-9a-f-]{36}\nGroups +${String.raw`\[system:serviceaccounts system:serviceaccounts:\S+ system:authenticated\]`}\nExtra: authentication.kubernetes.io/credential-id +${String.raw`\[JTI=[0-9a-f-]{36}\]`}\n$`,
    ),
  ],
  [
    '! kubectl get pods --user=robot',
    printed(
      'Error from server (Forbidden): pods is forbidden: User "system:serviceaccount:<ns>:robot" cannot list resource "pods" in API group "" in the namespace "<ns>"',
    ),
  ],
  ['kubectl create rolebinding robot --clusterrole=view --serviceaccount=$NS:robot', /created/],
  ['kubectl get pods --user=robot', printed('No resources found in <ns> namespace.')],
  ['kubectl delete sa robot', printed('serviceaccount "robot" deleted')],
  ['kubectl create sa robot', printed('serviceaccount/robot created')],
  [
    '! kubectl get pods --user=robot',
    printed('error: You must be logged in to the server (Unauthorized)'),
  ],
]
