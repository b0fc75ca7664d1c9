import { expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { backendProgram, isUserspace } from '../support/lab/daemon-config.ts'
import type { Lab } from '../support/lab/lab.ts'
import { createLab } from '../support/lab/lab.ts'
import { netState } from '../support/lab/net-state.ts'

test('--cleanup removes every trace of ours, and nothing else', async () => {
  const lab = await createLab()
  try {
    await plantForeignRules(lab)
    const before = await netState(lab.node)
    await lab.daemon.start()
    await deploy(lab, {
      key: 'ns/brief',
      clusterIP: '172.30.21.1',
      endpoints: [{ ip: '10.180.0.1' }],
      ports: [{ name: '', port: 80, nodePort: 30080 }],
      spec: { type: 'NodePort', sessionAffinity: 'ClientIP' },
    })
    const flow = { from: 'pod', src: '10.0.0.2', dst: '172.30.21.1', dport: 80 } as const
    const deliver = { outcome: 'deliver', endpoints: ['10.180.0.1:80'] } as const
    await expectFlow(lab, { ...flow, expect: deliver })
    expect(await netState(lab.node)).not.toEqual(before)
    await lab.daemon.stop()
    if (!isUserspace()) await expectFlow(lab, { ...flow, expect: deliver })
    await lab.daemon.once(['--cleanup'])
    expect(await netState(lab.node)).toEqual(before)
    await expectFlow(lab, { ...flow, expect: { outcome: 'unhandled' } })
  } finally {
    await lab.close()
  }
})

/** A firewall's rules beside ours, with names that resemble ours. */
async function plantForeignRules({ node }: Lab): Promise<void> {
  for (const rule of [
    '-t nat -N FOREIGN',
    '-t nat -A FOREIGN -d 198.51.100.1 -j RETURN',
    '-t nat -A PREROUTING -j FOREIGN',
    '-t filter -N MY-NPROXY',
    '-t filter -A FORWARD -j MY-NPROXY',
  ]) {
    await node.namespace.exec([backendProgram('iptables'), ...rule.split(' ')])
  }
  await node.namespace.exec(['ipset', 'create', 'foreign', 'hash:ip'])
}
