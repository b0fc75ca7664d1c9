import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DoctorCluster, startDoctorCluster } from '../../support/doctor/doctor-cluster.ts'
import { openNamespace, type Shop } from '../../support/doctor/shop.ts'

const ISSUER = 'https://orch.default.svc'

let cluster: DoctorCluster
let shop: Shop

/** A server that accepts tokens for `vault`, which it does not publish. */
beforeAll(async () => {
  cluster = await startDoctorCluster([`--api-audiences=${ISSUER},vault`])
  shop = await openNamespace(cluster, 'shop', 1)
})

afterAll(() => cluster?.[Symbol.asyncDispose]())

/** A Pod that sends a token for an audience to the API server. */
function podFor(name: string, audience: string): Promise<void> {
  const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
  const sources = [{ serviceAccountToken: { path: 'token', audience } }]
  const volumes = [{ name: 'own', projected: { sources } }]
  return shop.pod(name, {
    labels: {},
    spec: { volumes },
    container: { volumeMounts: [{ name: 'own', mountPath }] },
  })
}

test('a Pod is blamed for an audience that the server rejects, not for one that it does not publish', async () => {
  await podFor('accepted', 'vault')
  await podFor('rejected', 'wallet')
  const findings = await cluster.doctor('shop', [])
  expect(findings.map(({ check, object }) => [check, object])).toEqual([
    ['api-token', 'pod/shop/rejected'],
  ])
  expect(findings[0]!.cause).toMatch(/"wallet", and is rejected/)
  expect(await cluster.doctor('shop', ['pod/accepted'])).toEqual([])
})

test('a user who may not request such a token sees what was not checked', async () => {
  await cluster.make(`${shop.core}/serviceaccounts`, { metadata: { name: 'viewer' } })
  await cluster.make(`${shop.rbac}/rolebindings`, {
    metadata: { name: 'viewer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'shop', name: 'viewer' }],
  })
  const as = '--as=system:serviceaccount:shop:viewer'
  const ran = await cluster.shell.run(['doctor', '-n', 'shop', as])
  expect([ran.code, ran.stdout]).toEqual([0, 'nothing was found\n'])
  expect(ran.stderr).toContain('not checked: whether tokens for "wallet" are accepted: ')
})
