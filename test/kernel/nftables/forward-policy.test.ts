import { afterEach, beforeEach, expect, test } from 'vitest'
import { deploy } from '../../support/flows/deploy.ts'
import { expectFlow } from '../../support/flows/expect-flow.ts'
import { createLab, type Lab } from '../../support/lab/lab.ts'
import { logged } from '../../support/lab/log-lines.ts'
import { sumOf } from '../../support/lab/metrics.ts'

/** A firewall that drops every forwarded packet that it does not accept, as Docker sets it up. */
let lab: Lab
beforeEach(async () => {
  lab = await createLab()
  await lab.node.namespace.exec(['iptables-nft', '-P', 'FORWARD', 'DROP'])
})
afterEach(() => lab?.close())

const FLOW = { from: 'external', src: '203.0.113.2', dst: '192.168.0.2', dport: 30080 } as const
const ANSWERED = { outcome: 'deliver', endpoints: ['10.180.0.1:80'] } as const

function serve(): Promise<void> {
  return deploy(lab, {
    key: 'ns/any',
    clusterIP: '172.30.64.1',
    endpoints: [{ ip: '10.180.0.1' }],
    ports: [{ name: '', port: 80, nodePort: FLOW.dport }],
    spec: { type: 'NodePort' },
  })
}

test('auto takes a mode that passes it', async () => {
  await lab.daemon.start({ flags: ['--proxy-mode=auto'] })
  await serve()
  await expectFlow(lab, { ...FLOW, expect: ANSWERED })
  expect(logged(lab.daemon)).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      mode: 'nftables',
      reasons: [expect.stringContaining('the policy of chain FORWARD of iptables is DROP')],
    }),
  )
  const samples = await lab.daemon.metrics()
  expect(sumOf(samples, 'nodeproxy_mode_info', { mode: 'nftables' })).toBe(0)
})

test('where the mode is configured, a warning has the command that helps', async () => {
  await lab.daemon.start({ flags: ['--proxy-mode=nftables'] })
  await serve()
  const warning = logged(lab.daemon).find(({ code }) => code === 'NP_NFTABLES_FORWARD')
  const [command = ''] = String(warning?.['remedy']).split(', or ')
  await lab.node.namespace.exec(['sh', '-c', command])
  await expectFlow(lab, { ...FLOW, expect: ANSWERED })
})
