import { existsSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { type Deployment, deploy, objectsOf } from '../../support/flows/deploy.ts'
import { runOnNode } from '../../support/inspection/node-script.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import { expectSymptomShown, printedBy } from '../../support/pages/shown-command.ts'

/** The commands of a node of page: 'troubleshooting.md', each on a node that has the symptom. */
const lab = useLab()
beforeEach(async () => {
  await lab().reset()
  await lab().site('pod', POD)
})

const POD = '10.0.0.2'
const VIP = '172.30.41.1'
const WEB: Deployment = {
  key: 'shop/web',
  clusterIP: VIP,
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
  ports: [{ name: 'http', port: 80, nodePort: 30_080 }],
  spec: { type: 'NodePort' },
}
const run = (script: string): Promise<string> => runOnNode(lab(), script)
const expectShown = (heading: string, block: number): Promise<void> =>
  expectSymptomShown(heading, block, run)
const printed = (heading: string, block: number): Promise<string> => printedBy(heading, block, run)

async function iptables(...rule: readonly string[]): Promise<void> {
  await lab().node.namespace.exec(['iptables', ...rule])
}

test('a Service without endpoints', async () => {
  await deploy(lab(), { ...WEB, endpoints: [] })
  await expectShown('Service IP unreachable', 1)
})

test('a rule of another program drops', async () => {
  await deploy(lab(), WEB)
  const rule = ['FORWARD', '-d', '10.180.0.1', '-j', 'DROP']
  await iptables('-I', ...rule)
  try {
    await expectShown('Connection timeout', 1)
  } finally {
    await iptables('-D', ...rule)
  }
})

test('clients that stay with their backend', async () => {
  await deploy(lab(), { ...WEB, spec: { ...WEB.spec, sessionAffinity: 'ClientIP' } })
  await lab().connect('pod', { source: POD, destination: VIP, port: 80, attempts: 12 })
  await expectShown('Unbalanced load', 1)
  await expectShown('Unbalanced load', 2)
})

test('a firewall before a node port', async () => {
  await deploy(lab(), WEB)
  const rule = ['PREROUTING', '-t', 'mangle', '-p', 'tcp', '--dport', '30080', '-j', 'DROP']
  await iptables('-I', ...rule)
  try {
    await expectShown('External access fails', 0)
    await expectShown('External access fails', 2)
  } finally {
    await iptables('-D', ...rule)
  }
})

test('a change to ipvs on a kernel without it', async ({ skip }) => {
  skip(existsSync('/proc/net/ip_vs'), 'this kernel has ip_vs')
  await deploy(lab(), WEB)
  const refused = async () =>
    sumOf(await lab().daemon.metrics(), 'nodeproxy_config_reloads_total', { result: 'refused' })
  const before = await refused()
  lab().daemon.writeConfig({ mode: 'ipvs' })
  lab().daemon.signal('SIGHUP')
  await expect.poll(refused).toBe(before + 1)
  await expectShown('IPVS mode has no effect', 0)
  await expectShown('IPVS mode has no effect', 1)
  await lab().daemon.kill()
  await expectShown('IPVS mode has no effect', 2)
  await lab().daemon.start()
  await lab().daemon.synced()
})

test('many rules', async () => {
  const services = Array.from({ length: 300 }, (_, index) =>
    objectsOf({
      key: `shop/web-${index}`,
      clusterIP: `172.30.42.${index % 250}`,
      endpoints: [1, 2, 3].map((last) => ({ ip: `10.180.3.${last}`, node: 'far' })),
      ports: [{ name: 'http', port: 80 + Math.floor(index / 250) }],
    }),
  )
  await lab().api.apply(...services.flat())
  await lab().daemon.synced()
  await expectShown('Rules too many, slow', 0)
  await expectShown('Rules too many, slow', 1)
})

test('what a change will do', async () => {
  await deploy(lab(), WEB)
  await expectShown('What will a change do?', 0)
  await expectShown('What will a change do?', 1)
})

test('a node that is well', async () => {
  await deploy(lab(), WEB)
  const pages = await printed('Whether a node is well', 0)
  expect(pages).toMatch(/^\{"lastUpdated".*\n\{"ready":true.*\n[^]*nodeproxy_drift_repairs_total/)
  const answers = await printed('Whether a node is well', 1)
  expect(answers).toMatch(/^ready, and nothing is wrong[^]*\nshop\/web:http\/TCP\/4: Done\n/)
  expect(answers).toMatch(/50 % {2}10\.180\.2\.1:80 gets it, from 10\.0\.0\.2/)
})

test('what a node has recorded is explained elsewhere', async () => {
  await deploy(lab(), WEB)
  const answer = await printed('One file for those who help', 0)
  expect(answer).toMatch(/50 % {2}10\.180\.2\.1:80 gets it, from 10\.0\.0\.2/)
})

test('the rules of a node', async () => {
  await deploy(lab(), WEB)
  const rules = await printed('Look at the rules', 0)
  expect(rules).toMatch(/^-A PREROUTING -j NPROXY-SERVICES$/m)
  expect(rules).toMatch(/^Chain NPROXY-SERVICES \(\d+ references\)\n/m)
})
