import { printed } from '../printed.ts'
import type { Line } from '../scenes.ts'

const TOKEN = 'kubernetes.io/service-account-token'

function described(name: string, type: string, ...data: readonly string[]): RegExp {
  return printed(
    `Name:         ${name}`,
    'Namespace:    <ns>',
    'Labels:       <none>',
    'Annotations:  <none>',
    '',
    `Type:  ${type}`,
    '',
    'Data',
    '====',
    ...data,
  )
}

export const SECRETS: readonly Line[] = [
  [
    'kubectl create secret generic plain --from-literal=a=hello --from-literal=b=xy',
    printed('secret/plain created'),
  ],
  [
    'kubectl create secret docker-registry reg --docker-server=r.example --docker-username=u --docker-password=p',
    printed('secret/reg created'),
  ],
  ['kubectl create secret tls web --cert=tls.crt --key=tls.key', printed('secret/web created')],
  [
    'kubectl create secret generic login --type=kubernetes.io/basic-auth --from-literal=username=u',
    printed('secret/login created'),
  ],
  [
    '! kubectl create secret generic bad --type=kubernetes.io/basic-auth --from-literal=c=d',
    /^error: failed to create secret Secret "bad" is invalid: \[data\[username\]: Required value.*, data\[password\]: Required value/,
  ],
  [
    '! kubectl create secret generic bad --type=kubernetes.io/tls --from-literal=tls.crt=d',
    /^error: failed to create secret Secret "bad" is invalid: data\[tls\.key\]: Required value/,
  ],
  ['kubectl create sa robot', printed('serviceaccount/robot created')],
  ['kubectl create -f robot-token.yaml', printed('secret/robot-token created')],
  [
    'kubectl wait secret/robot-token --for=jsonpath=\'{.data.namespace}\'="$(printf %s $NS | base64 -w0)"',
    printed('secret/robot-token condition met'),
  ],
  [
    'kubectl get secret',
    printed(
      'NAME TYPE DATA AGE',
      'login kubernetes.io/basic-auth 1 <age>',
      'plain Opaque 2 <age>',
      'reg kubernetes.io/dockerconfigjson 1 <age>',
      `robot-token ${TOKEN} 3 <age>`,
      'web kubernetes.io/tls 2 <age>',
    ),
  ],
  ['kubectl get secret plain -o wide', printed('NAME TYPE DATA AGE', 'plain Opaque 2 <age>')],
  ["kubectl get secret plain -o jsonpath='{.data.a}' | base64 -d", /^hello$/],
  [
    `kubectl get secrets --field-selector=type=${TOKEN} --no-headers`,
    printed(`robot-token ${TOKEN} 3 <age>`),
  ],
  [
    'kubectl describe secret login',
    described('login', 'kubernetes.io/basic-auth', 'username: <bytes>'),
  ],
  [
    'kubectl describe secret reg',
    described('reg', 'kubernetes.io/dockerconfigjson', '.dockerconfigjson: <bytes>'),
  ],
  [
    "kubectl describe secret robot-token | sed '/^Data/,$d'",
    printed(
      'Name:         robot-token',
      'Namespace:    <ns>',
      'Labels:       <none>',
      'Annotations:  kubernetes.io/service-account.name: robot',
      '  kubernetes.io/service-account.uid: <uid>',
      '',
      `Type:  ${TOKEN}`,
      '',
    ),
  ],
  [
    "kubectl describe secret robot-token | sed '1,/====/d' | sort",
    printed('ca.crt:     <bytes>', 'namespace:  <bytes>', 'token:      <jwt>'),
  ],
  [
    '! kubectl create -f nobodys-token.yaml',
    /Secret "nobodys-token" is invalid: metadata\.annotations\[kubernetes\.io\/service-account\.name\]: Required value/,
  ],
  [
    `! kubectl patch secret plain -p '{"type":"other"}'`,
    /^The Secret "plain" is invalid: type: Invalid value: "other": field is immutable/,
  ],
  [`kubectl patch secret plain -p '{"immutable":true}'`, printed('secret/plain patched')],
  [
    `! kubectl patch secret plain -p '{"stringData":{"a":"b"}}'`,
    printed(
      'The Secret "plain" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    ),
  ],
  ['kubectl delete secret plain web', printed('secret "plain" deleted', 'secret "web" deleted')],
]
