import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { startSecuredApi } from '../apiserver/testing/secured-api.ts'
import { componentRoles } from '../auth/builtin-roles/component-roles.ts'
import type { RoleRule } from '../auth/builtin-roles/role-object.ts'
import { recordPermissions, unusedPermissions } from '../auth/testing/recorded-permissions.ts'
import { bearer, fixedCredential } from '../client/connection/credential/credential.ts'
import { connectionBySocket } from '../client/connection/load-connection.ts'
import { createApiClient } from '../client/http/api-client.ts'
import { silentReporter } from '../client/testing/silent-reporter.ts'
import { systemClock } from '../lib/clock.ts'
import { systemRandom } from '../lib/random.ts'
import { createClusterWatcher } from '../watch/cluster-watcher.ts'
import { createPolicyWatcher } from '../watch/policy-watcher.ts'

const MANIFESTS = join(import.meta.dirname, '../../config/kubernetes')
const ROLE = 'system:node-proxier'
const BINDING = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
const SUBJECT = { kind: 'ServiceAccount', namespace: 'kube-system', name: 'node-proxy' }

function documentsIn(file: string): readonly Record<string, unknown>[] {
  const text = readFileSync(join(MANIFESTS, file), 'utf8')
  return [...parseAllDocuments(text)].map((one) => one.toJS() as Record<string, unknown>)
}

/** The rules of the ClusterRole that the component brings, which is bound to the same account. */
function policyRules(): readonly RoleRule[] {
  const [role, binding, ...more] = documentsIn('components/network-policy/rbac.yaml')
  const name = 'node-proxy-network-policy'
  expect(role).toMatchObject({ kind: 'ClusterRole', metadata: { name } })
  expect(more).toEqual([])
  expect(binding).toMatchObject({ roleRef: { kind: 'ClusterRole', name }, subjects: [SUBJECT] })
  return role?.['rules'] as readonly RoleRule[]
}

function permissionsOf(rules: readonly RoleRule[] | undefined): readonly string[] {
  return unusedPermissions(rules ?? [], new Set()).toSorted()
}

const builtin = componentRoles.find(({ name }) => name === ROLE)?.rules

test('the manifests give the daemon an account with exactly the built-in role, except for policies', () => {
  const [account, role, binding, ...more] = documentsIn('node-proxy/rbac.yaml')
  expect(more).toEqual([])
  const { kind, ...named } = SUBJECT
  expect(account).toMatchObject({ kind, metadata: named })
  const rules = role?.['rules'] as readonly RoleRule[]
  expect(permissionsOf([...rules, ...policyRules()])).toEqual(permissionsOf(builtin))
  expect(permissionsOf(policyRules())).toEqual(
    ['list', 'watch']
      .flatMap((verb) => [
        `${verb} /namespaces`,
        `${verb} /pods`,
        `${verb} networking.k8s.io/networkpolicies`,
        `${verb} policy.networking.k8s.io/clusternetworkpolicies`,
      ])
      .toSorted(),
  )
  expect(role).toMatchObject({ kind: 'ClusterRole', metadata: { name: 'node-proxy' } })
  expect(binding).toMatchObject({
    kind: 'ClusterRoleBinding',
    roleRef: { kind: 'ClusterRole', name: 'node-proxy' },
    subjects: [SUBJECT],
  })
  expect(documentsIn('node-proxy/daemonset.yaml')).toMatchObject([
    { spec: { template: { spec: { serviceAccountName: 'node-proxy' } } } },
  ])
})

/**
 * What the daemon does only elsewhere: it lists where a server cannot begin a watch with what is there, follows
 * Endpoints where there are no EndpointSlices, and reads one Node where it may read no other. kube-proxy, which runs
 * with this role, too, writes Events of the other group, and counts them by changing them.
 */
const NOT_USED = [
  'list /endpoints',
  'watch /endpoints',
  'list /services',
  'list /nodes',
  'get /nodes',
  'list discovery.k8s.io/endpointslices',
  'patch /events',
  'update /events',
  ...['create', 'patch', 'update'].map((verb) => `${verb} events.k8s.io/events`),
]

test('the daemon uses what its role permits, and is refused nothing', async () => {
  const used = recordPermissions()
  const api = await startSecuredApi(['node-proxy'])
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ROLE }
  await api.make(BINDING, { metadata: { name: 'node-proxy' }, roleRef, subjects: [SUBJECT] })
  await api.make('/api/v1/nodes', { metadata: { name: 'n1' } })
  const connection = connectionBySocket(api.socketPath, fixedCredential(bearer('node-proxy')))
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'node-proxy/test' })
  const failures: unknown[] = []
  const synced = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const stop = new AbortController()
  const shared = {
    client,
    clock: systemClock,
    random: systemRandom,
    onEvents: () => undefined,
    onProblem: () => undefined,
    onPermitted: () => undefined,
    onRefused: (refusal: unknown) => void failures.push(refusal),
    onClusterPoliciesForbidden: (failure: unknown) => void failures.push(failure),
    reporter: {
      ...silentReporter,
      failed: (...failure: readonly unknown[]) => void failures.push(failure),
    },
  }
  const running = Promise.all([
    createClusterWatcher({ ...shared, nodeName: 'n1', onSynced: synced[0].resolve }).run(
      stop.signal,
    ),
    createPolicyWatcher({ ...shared, onSynced: synced[1].resolve }).run(stop.signal),
  ])
  onTestFinished(async () => {
    stop.abort()
    await running
    await client.close()
  })
  await Promise.all(synced.map(({ promise }) => promise))
  const event = { metadata: { name: 'e' }, involvedObject: { kind: 'Node', name: 'n1' } }
  expect(await client.create('/api/v1/namespaces/default/events', event)).toMatchObject({
    ok: true,
  })
  expect(failures).toEqual([])
  expect(unusedPermissions(builtin ?? [], used.get(ROLE) ?? new Set()).toSorted()).toEqual(
    NOT_USED.toSorted(),
  )
})
