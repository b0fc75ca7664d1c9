import { test } from 'vitest'
import { expectFollowsPods } from '../support/flows/follows-pods.ts'
import { NODE_NAME } from '../support/lab/plan.ts'
import { useUpstreamLab } from './use-upstream-lab.ts'

const lab = useUpstreamLab({
  api: 'orch-server',
  program: 'kube-proxy',
  flags: [
    `--hostname-override=${NODE_NAME}`,
    '--proxy-mode=iptables',
    '--cluster-cidr=10.0.0.0/8',
    '--conntrack-max-per-core=0',
  ],
  ready: 'Caches are synced for service config',
})

test('kube-proxy follows orch-server across kill -9, and forwards', async () => {
  await expectFollowsPods(lab(), { kills: 2 })
})
