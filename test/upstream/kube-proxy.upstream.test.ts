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
let proxy: LabProcess

beforeAll(async () => {
  lab = await createLab({ api: 'orch-server' })
  const kubeconfig = join(lab.folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(lab.api))
  proxy = startProcess(lab.node.namespace, [
    upstreamProgram('kube-proxy'),
    ...[`--kubeconfig=${kubeconfig}`, `--hostname-override=${NODE_NAME}`, '--v=2'],
    ...['--proxy-mode=iptables', '--cluster-cidr=10.0.0.0/8', '--conntrack-max-per-core=0'],
  ])
  await proxy.said('Caches are synced for service config')
})
afterAll(async () => {
  proxy?.tell('SIGKILL')
  await proxy?.ended
  await lab?.close()
})

test('kube-proxy follows orch-server across kill -9, and forwards', async () => {
  await expectFollowsPods(lab, { kills: 2 })
})
