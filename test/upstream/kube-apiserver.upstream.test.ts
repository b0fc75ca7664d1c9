import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, test } from 'vitest'
import { expectFollowsPods } from '../support/flows/follows-pods.ts'
import { kubeconfigText } from '../support/lab/daemon-config.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { NODE_NAME } from '../support/lab/plan.ts'
import { type LabProcess, startProcess } from '../support/lab/process.ts'
import { upstreamProgram } from '../support/lab/upstream-program.ts'

let lab: Lab
let controllers: LabProcess

beforeAll(async () => {
  lab = await createLab({ api: 'kube-apiserver' })
  const kubeconfig = join(lab.folder, 'controllers.kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(lab.api))
  controllers = startProcess(lab.node.namespace, [
    upstreamProgram('kube-controller-manager'),
    ...[`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--v=2'],
    '--controllers=endpoint,endpointslice,endpointslicemirroring,namespace',
  ])
  await controllers.said('Caches are synced for endpoint_slice ')
  await lab.daemon.start()
  await lab.daemon.synced()
})
afterAll(async () => {
  controllers?.tell('SIGKILL')
  await controllers?.ended
  await lab?.close()
})

/** Its controllers write EndpointSlices for Pods of Nodes that exist. */
test('node-proxy follows kube-apiserver across kill -9, and forwards', async () => {
  await expectFollowsPods(lab, { kills: 2, nodeName: NODE_NAME })
})
