import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Action } from '../../../auth/action.ts'
import type { User } from '../../../auth/user.ts'
import { findRule } from '../audit-log.ts'
import { parseAuditPolicy } from '../read-policy.ts'

const ANN: User = { name: 'ann', groups: ['dev', 'system:authenticated'] }
const PROXY: User = { name: 'system:kube-proxy', groups: ['system:authenticated'] }
const NODE_PROXY: User = {
  name: 'system:serviceaccount:kube-system:node-proxy',
  groups: ['system:serviceaccounts:kube-system', 'system:authenticated'],
}
const KUBELET: User = { name: 'system:node:n1', groups: ['system:nodes'] }

/** `get pods/log shop/web-1`, `list rbac.authorization.k8s.io:roles shop/`, `get /version`. */
function action(text: string): Action {
  const [verb = '', what = '', where = '/'] = text.split(' ')
  if (what.startsWith('/')) return { verb, path: what }
  const [group, plural = ''] = what.includes(':') ? what.split(':') : ['', what]
  const [resource = '', subresource = ''] = plural.split('/')
  const [namespace = '', name = ''] = where.split('/')
  return { verb, group: group ?? '', resource, subresource, namespace, name }
}

function levelOf(policy: string, user: User | undefined, text: string): string {
  return findRule(parseAuditPolicy(policy, 'p.yaml'), user, action(text))?.level ?? 'None'
}

/** The example of the Kubernetes documentation, in its order of rules. */
const EXAMPLE = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: RequestResponse, resources: [{group: "", resources: [pods]}]}
  - {level: Metadata, resources: [{group: "", resources: [pods/log, pods/status]}]}
  - {level: None, resources: [{group: "", resources: [configmaps], resourceNames: [controller-leader]}]}
  - level: None
    users: ["system:kube-proxy"]
    verbs: [watch]
    resources: [{group: "", resources: [endpoints, services]}]
  - {level: None, userGroups: ["system:authenticated"], nonResourceURLs: ["/api*", /version]}
  - {level: Request, resources: [{group: "", resources: [configmaps]}], namespaces: [kube-system]}
  - {level: Metadata, resources: [{group: "", resources: [secrets, configmaps]}]}
  - {level: Request, resources: [{group: ""}, {group: extensions}]}
  - {level: Metadata, omitStages: [ResponseStarted]}
`

describe('the example of the Kubernetes documentation', () => {
  test.each<[User | undefined, string, string]>([
    [ANN, 'get pods shop/web', 'RequestResponse'],
    [ANN, 'list pods', 'RequestResponse'],
    [ANN, 'get pods/log shop/web', 'Metadata'],
    [KUBELET, 'patch pods/status shop/web', 'Metadata'],
    [ANN, 'create pods/exec shop/web', 'Request'],
    [ANN, 'get configmaps shop/controller-leader', 'None'],
    [ANN, 'list configmaps shop/', 'Metadata'],
    [ANN, 'get configmaps kube-system/settings', 'Request'],
    [ANN, 'get configmaps shop/settings', 'Metadata'],
    [PROXY, 'watch services', 'None'],
    [PROXY, 'list services', 'Request'],
    [ANN, 'watch services', 'Request'],
    [PROXY, 'watch endpoints/status', 'Request'],
    [ANN, 'get /api', 'None'],
    [ANN, 'get /apis/apps', 'None'],
    [ANN, 'get /version', 'None'],
    [ANN, 'get /version/x', 'Metadata'],
    [undefined, 'get /version', 'Metadata'],
    [ANN, 'get secrets shop/key', 'Metadata'],
    [ANN, 'create services shop/', 'Request'],
    [ANN, 'list extensions:ingresses', 'Request'],
    [ANN, 'list apps:deployments', 'Metadata'],
  ])('%o: %s is %s', (user, text, level) => {
    expect(levelOf(EXAMPLE, user, text)).toBe(level)
  })

  test('stages that are left out are those of the policy and of the rule', () => {
    const policy = parseAuditPolicy(EXAMPLE, 'p.yaml')
    const stages = (text: string) => [...(findRule(policy, ANN, action(text))?.omitStages ?? [])]
    expect(stages('get pods shop/web')).toEqual(['RequestReceived'])
    expect(stages('list apps:deployments')).toEqual(['RequestReceived', 'ResponseStarted'])
  })
})

function rule(conditions: string): string {
  return `{apiVersion: audit.orch.io/v1, kind: Policy, rules: [{level: Metadata, ${conditions}}]}`
}

describe('one rule', () => {
  test.each<[string, string, 'Metadata' | 'None']>([
    ['users: []', 'get pods shop/web', 'Metadata'],
    ['users: [ann]', 'get pods shop/web', 'Metadata'],
    ['users: [Ann]', 'get pods shop/web', 'None'],
    ['userGroups: [ops, dev]', 'get /x', 'Metadata'],
    ['userGroups: [ops]', 'get /x', 'None'],
    ['users: [bob], userGroups: [dev]', 'get /x', 'None'],
    ['verbs: [list]', 'get pods shop/web', 'None'],
    ['namespaces: [shop]', 'get pods shop/web', 'Metadata'],
    ['namespaces: [shop]', 'list pods', 'None'],
    ['namespaces: [shop]', 'get /x', 'None'],
    ['namespaces: [""]', 'list nodes', 'Metadata'],
    ['namespaces: [""]', 'get pods shop/web', 'None'],
    ['resources: [{group: ""}]', 'get pods/log shop/web', 'Metadata'],
    ['resources: [{group: ""}]', 'get apps:deployments shop/web', 'None'],
    ['resources: [{resources: [pods]}]', 'get pods shop/web', 'Metadata'],
    ['resources: [{resources: [pods]}]', 'get pods/log shop/web', 'None'],
    ['resources: [{resources: [pods]}]', 'get podsets shop/web', 'None'],
    ['resources: [{resources: ["*"]}]', 'get pods/log shop/web', 'Metadata'],
    ['resources: [{resources: ["pods/*"]}]', 'get pods/log shop/web', 'Metadata'],
    ['resources: [{resources: ["pods/*"]}]', 'get pods shop/web', 'Metadata'],
    ['resources: [{resources: ["pods/*"]}]', 'get services/log shop/web', 'None'],
    ['resources: [{resources: ["*/status"]}]', 'update pods/status shop/web', 'Metadata'],
    ['resources: [{resources: ["*/status"]}]', 'update pods shop/web', 'None'],
    ['resources: [{resources: [pods], resourceNames: [web]}]', 'get pods shop/web', 'Metadata'],
    ['resources: [{resources: [pods], resourceNames: [web]}]', 'get pods shop/api', 'None'],
    ['resources: [{resources: [pods], resourceNames: [web]}]', 'list pods shop/', 'None'],
    ['nonResourceURLs: ["*"]', 'get /anything', 'Metadata'],
    ['nonResourceURLs: ["*"]', 'get pods shop/web', 'None'],
    ['nonResourceURLs: [/metrics]', 'get /metrics', 'Metadata'],
    // The paths of actions are decoded already: this one was sent as /%256detrics.
    ['nonResourceURLs: [/metrics]', 'get /%6detrics', 'None'],
    ['nonResourceURLs: [/metrics]', 'get /metrics2', 'None'],
    ['nonResourceURLs: [/logs/*]', 'get /logs', 'None'],
    ['nonResourceURLs: [/logs/*]', 'get /logs/a/b', 'Metadata'],
    ['nonResourceURLs: ["/*"]', 'get /%zz', 'Metadata'],
    ['nonResourceURLs: [/]', 'get /', 'Metadata'],
  ])('%s: %s is %s', (conditions, text, level) => {
    expect(levelOf(rule(conditions), ANN, text)).toBe(level)
  })

  test.each(['users: ["system:anonymous"]', 'userGroups: ["system:unauthenticated"]'])(
    '%s matches no request without a user',
    (conditions) => expect(levelOf(rule(conditions), undefined, 'get /x')).toBe('None'),
  )
})

test.each(['networking', 'rbac.authorization', 'discovery', 'coordination'])(
  'the group %s has two names, and a rule with either matches requests with either',
  (group) => {
    for (const written of [`${group}.orch.io`, `${group}.k8s.io`]) {
      for (const requested of [`${group}.orch.io`, `${group}.k8s.io`]) {
        const conditions = `resources: [{group: ${written}, resources: [things]}]`
        expect(levelOf(rule(conditions), ANN, `get ${requested}:things a/b`)).toBe('Metadata')
      }
    }
  },
)

describe('config/audit-policy.yaml', () => {
  const path = new URL('../../../../config/audit-policy.yaml', import.meta.url)
  const text = readFileSync(path, 'utf8')
  test.each<[User | undefined, string, string]>([
    [PROXY, 'watch discovery.k8s.io:endpointslices', 'None'],
    [PROXY, 'list secrets', 'Metadata'],
    [NODE_PROXY, 'watch services', 'None'],
    [NODE_PROXY, 'list secrets', 'Metadata'],
    [NODE_PROXY, 'update discovery.k8s.io:endpointslices shop/a', 'Metadata'],
    [NODE_PROXY, 'create events.k8s.io:events shop/', 'None'],
    [ANN, 'create events shop/', 'Request'],
    [ANN, 'update discovery.k8s.io:endpointslices shop/a', 'Request'],
    [KUBELET, 'patch nodes/status n1', 'None'],
    [KUBELET, 'get secrets shop/key', 'Metadata'],
    [KUBELET, 'delete nodes n1', 'Request'],
    [ANN, 'patch nodes/status n1', 'Metadata'],
    [KUBELET, 'update coordination.k8s.io:leases kube-node-lease/n1', 'None'],
    [ANN, 'update coordination.k8s.io:leases kube-node-lease/n1', 'Request'],
    [ANN, 'get /apis', 'None'],
    [undefined, 'get /secret-path', 'Metadata'],
    [ANN, 'create serviceaccounts/token shop/builder', 'Metadata'],
    [ANN, 'create authentication.k8s.io:tokenreviews', 'Metadata'],
    [ANN, 'update secrets shop/key', 'Metadata'],
    [ANN, 'create rbac.authorization.k8s.io:rolebindings shop/', 'RequestResponse'],
    [KUBELET, 'patch pods/status shop/web', 'Metadata'],
    [ANN, 'create pods shop/', 'Request'],
    [ANN, 'list pods shop/', 'Metadata'],
  ])('%o: %s is %s', (user, what, level) => {
    expect(levelOf(text, user, what)).toBe(level)
  })
})
