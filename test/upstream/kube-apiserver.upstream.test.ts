import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { expectFollowsPods } from '../support/flows/follows-pods.ts'
import { auditUsers } from '../support/lab/audited-users.ts'
import { KUBE_APISERVER_FOLDER } from '../support/lab/kube-apiserver.ts'
import { NODE_NAME } from '../support/lab/plan.ts'
import { useUpstreamLab } from './use-upstream-lab.ts'

const lab = useUpstreamLab({
  api: 'kube-apiserver',
  program: 'kube-controller-manager',
  flags: [
    '--leader-elect=false',
    '--use-service-account-credentials',
    '--controllers=endpoint,endpointslice,endpointslicemirroring,namespace',
  ],
  ready: 'Caches are synced for endpoint_slice ',
})

beforeAll(async () => {
  await lab().daemon.start()
  await lab().daemon.synced()
})

test('node-proxy has the role of its manifest, which is enough', async () => {
  const users = auditUsers(join(lab().folder, KUBE_APISERVER_FOLDER))
  const daemon = 'system:serviceaccount:kube-system:node-proxy'
  expect(users.refused().filter((line) => line.startsWith(daemon))).toEqual([])
  expect(users.bindings()[daemon]).toEqual(['node-proxy', 'system:discovery'])
})

/** Its controllers write EndpointSlices for Pods of Nodes that exist. */
test('node-proxy follows kube-apiserver across kill -9, and forwards', async () => {
  await expectFollowsPods(lab(), { kills: 2, nodeName: NODE_NAME })
})
