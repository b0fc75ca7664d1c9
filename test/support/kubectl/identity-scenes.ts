import { ACCOUNTS, TOKENS } from './identity/accounts.ts'
import { CAN_I, CAN_I_LIST, RECONCILING, REFUSALS, WHO_AM_I } from './identity/permissions.ts'
import { BINDINGS, ROLES } from './identity/roles.ts'
import { SECRETS } from './identity/secrets.ts'
import type { Scene } from './scenes.ts'

const ROBOT_TOKEN = `
apiVersion: v1
kind: Secret
metadata: {name: robot-token, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
`

const TEAM = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: team, namespace: NAMESPACE}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: team}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
`

export const IDENTITY_FILES = {
  'robot-token.yaml': ROBOT_TOKEN,
  'nobodys-token.yaml': ROBOT_TOKEN.replace(/, annotations.*}}/, '}').replace('robot', 'nobodys'),
  'team.template': TEAM,
}

export const IDENTITY_SCENES: readonly Scene[] = [
  { name: 'accounts', lines: ACCOUNTS },
  { name: 'tokens', lines: TOKENS },
  { name: 'secrets', lines: SECRETS },
  { name: 'roles', lines: ROLES },
  { name: 'bindings', lines: BINDINGS },
  { name: 'can-i', lines: CAN_I },
  { name: 'can-i-list', lines: CAN_I_LIST },
  { name: 'who-am-i', lines: WHO_AM_I },
  { name: 'refusals', lines: REFUSALS },
  { name: 'reconciles', lines: RECONCILING },
]
