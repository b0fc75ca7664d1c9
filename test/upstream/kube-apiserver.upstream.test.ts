import { beforeAll, test } from 'vitest'
import { expectFollowsPods } from '../support/flows/follows-pods.ts'
import { NODE_NAME } from '../support/lab/plan.ts'
import { useUpstreamLab } from './use-upstream-lab.ts'

const lab = useUpstreamLab({
  api: 'kube-apiserver',
  program: 'kube-controller-manager',
  flags: [
    ...['--leader-elect=false', '--use-service-account-credentials'],
    '--controllers=endpoint,endpointslice,endpointslicemirroring,namespace',
  ],
  ready: 'Caches are synced for endpoint_slice ',
})

beforeAll(async () => {
  await lab().daemon.start()
  await lab().daemon.synced()
})

/** Its controllers write EndpointSlices for Pods of Nodes that exist. */
test('node-proxy follows kube-apiserver across kill -9, and forwards', async () => {
  await expectFollowsPods(lab(), { kills: 2, nodeName: NODE_NAME })
})
