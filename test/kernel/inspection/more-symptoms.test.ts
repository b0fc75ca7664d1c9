import { beforeEach, expect, test } from 'vitest'
import { type Deployment, deploy, redeploy } from '../../support/flows/deploy.ts'
import { runOnNode } from '../../support/inspection/node-script.ts'
import { backendProgram } from '../../support/lab/daemon-config.ts'
import type { Lab } from '../../support/lab/lab.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import type { ApiObject } from '../../support/lab/objects.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import { symptomRows } from '../../support/pages/symptom-table.ts'

/** The table of further symptoms of page: 'troubleshooting.md': each is made on a node, and its command shows it. */
const ROWS = symptomRows('troubleshooting.md', 'More symptoms of a node')
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

/** Makes a symptom, shows it, and ends it. */
type Maker = (lab: Lab, show: () => Promise<void>) => Promise<void>

/** Runs commands on the node, and others when it was shown. */
function byCommands(
  run: readonly string[],
  undo: readonly string[],
  maker: Maker = (_, show) => show(),
): Maker {
  return async (made, show) => {
    const { node } = made
    await deploy(made, WEB)
    for (const command of run) await node.namespace.exec(command.split(' '))
    try {
      await maker(made, show)
    } finally {
      for (const command of undo) await node.namespace.exec(command.split(' '))
    }
  }
}

/** Another configuration. */
function byConfiguration(config: Parameters<typeof reconfigure>[1], maker?: Maker): Maker {
  return async (made, show) => {
    await deploy(made, WEB)
    await reconfigure(made, config)
    try {
      await made.daemon.synced()
      await (maker === undefined ? show() : maker(made, show))
    } finally {
      await reconfigure(made, {})
    }
  }
}

const MAKERS: Readonly<Record<string, Maker>> = {
  'clients outside time out at one node': async (made, show) => {
    const endpoints = [{ ip: '10.180.2.1', node: 'far' }]
    const spec = { type: 'NodePort', externalTrafficPolicy: 'Local' } as const
    await deploy(made, { ...WEB, endpoints, spec })
    await show()
  },
  'a client reaches a backend that is gone': async (made, show) => {
    await deploy(made, { ...WEB, endpoints: [{ ip: '10.180.0.1' }] })
    const { agent } = await made.site('pod', POD)
    const to = { protocol: 'TCP', source: POD, destination: VIP, port: 80 } as const
    const { id } = await agent.call('open', to)
    await redeploy(made, { ...WEB, endpoints: [] })
    expect(await agent.call('ping', { id, timeoutMs: 2_000 })).toBe(true)
    await show()
    await agent.call('resetOpen', null)
  },
  'no node port answers': byConfiguration(
    { nodePortAddresses: ['primary'] },
    async ({ api, daemon }, show) => {
      const { body } = await api.request('GET', '/api/v1/nodes/test-node')
      const { spec, status } = JSON.parse(body) as ApiObject
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'test-node' }, spec }
      await api.apply({ ...node, status: { addresses: [] } })
      await daemon.until('without addresses', (samples) => isCondition(samples))
      await show()
      await api.apply({ ...node, status })
      await daemon.until('with addresses', (samples) => !isCondition(samples))
    },
  ),
  'a node port does not answer on one address': byConfiguration({
    nodePortAddresses: ['192.168.1.0/24'],
  }),
  'an externalIP does nothing': byConfiguration(
    { allowedExternalIPs: ['198.51.100.0/24'] },
    async (made, show) => {
      await deploy(made, { ...WEB, spec: { ...WEB.spec, externalIPs: ['1.2.3.4'] } })
      await show()
    },
  ),
  'the server sees the address of the node instead of that of the client': async (made, show) => {
    await deploy(made, WEB)
    await show()
  },
  'the server sees the address of the node instead of that of a Pod': byConfiguration({
    clusterCIDR: '10.99.0.0/16',
  }),
  'nothing changes any more, old Services work': async (made, show) => {
    await deploy(made, WEB)
    await made.apiServer.hangUp()
    try {
      const readiness = async () => (await made.daemon.http(10_249, '/readyz')).status
      await expect.poll(readiness).toBe(503)
      await show()
    } finally {
      await made.apiServer.answerAgain()
      await made.daemon.synced()
    }
  },
  'in nftables mode the node itself reaches Services, but pods and clients outside time out':
    byConfiguration(
      { mode: 'nftables' },
      byCommands(['iptables -P FORWARD DROP'], ['iptables -P FORWARD ACCEPT']),
    ),
  'some connections to a Service fail although its rules are right': async ({ node }, show) => {
    const restore = (input: string) =>
      node.namespace.exec([backendProgram('iptables-restore'), '--noflush'], { input })
    const jump = 'PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES'
    await restore(`*nat\n:KUBE-SERVICES - [0:0]\n-I ${jump}\nCOMMIT\n`)
    try {
      await show()
    } finally {
      await restore(`*nat\n-D ${jump}\n-X KUBE-SERVICES\nCOMMIT\n`)
    }
  },
  'rules vanish again and again': async (made, show) => {
    await deploy(made, WEB)
    await made.node.namespace.exec('iptables -t nat -F NPROXY-SERVICES'.split(' '))
    await made.daemon.until('repaired', (samples) => sumOf(samples, REPAIRS) > 0)
    await show()
  },
  'the daemon or `--cleanup` exits with `NP_NODEPROXY_LOCKED`': async (_, show) => show(),
  'neighbours could reach services on 127.0.0.1 of the node': byCommands(
    ['sysctl -q net.ipv4.conf.all.route_localnet=1'],
    ['sysctl -q net.ipv4.conf.all.route_localnet=0'],
    withoutGuard,
  ),
}

/** The daemon looks every minute whether loopback is open, and guards it then: shows it once more without that guard. */
function withoutGuard({ node }: Lab, show: () => Promise<void>): Promise<void> {
  const iptables = (...args: string[]) =>
    node.namespace.exec([backendProgram('iptables'), '-w', ...args])
  return show().catch(async (error: unknown) => {
    const rules = await iptables('-S', 'INPUT')
    if (!rules.includes(GUARD)) throw error
    await iptables('-D', 'INPUT', '-j', GUARD)
    await show()
  })
}

const GUARD = 'NPGUARD-FOUND'
const REPAIRS = 'nodeproxy_drift_repairs_total'

function isCondition(samples: Parameters<typeof sumOf>[0]): boolean {
  return sumOf(samples, 'nodeproxy_conditions', { reason: 'node-port-addresses-unknown' }) === 1
}

/** Made elsewhere, or not at all. */
const OTHERS: Readonly<Record<string, string>> = {
  'some first packets are lost': 'test/kernel/doctor/lost-insertions.test.ts',
  'one node is not like the others': 'test/kernel/doctor/differing-nodes.test.ts',
  'the API server refuses the daemon': 'test/kernel/doctor/daemon-credentials.test.ts',
  'packets leave their zone although the Service requests hints': 'no node has zones here',
  'nftables mode does not start, or a change to it is refused': 'this kernel has nftables',
  'a firewall does not load its rules: `Operation not permitted`':
    'test/kernel/nftables has the table',
  '`node: error while loading shared libraries: libatomic.so.1`': 'this machine has it',
}

test('each row of the table is made, or said why not', () => {
  const known = [...Object.keys(MAKERS), ...Object.keys(OTHERS)].toSorted()
  expect(ROWS.map(({ symptom }) => symptom).toSorted()).toEqual(known)
})

test.each(Object.entries(MAKERS))('%s', async (symptom, make) => {
  const row = ROWS.find((one) => one.symptom === symptom)
  expect(row?.command).toBeTruthy()
  await make(lab(), async () => {
    const printed = await runOnNode(lab(), `{ ${row?.command}\n} 2>&1; true`)
    if (process.env['DUMP']) console.log(`## ${symptom}\n$ ${row?.command}\n${printed}`)
    expect(row?.shows).toBeTruthy()
    expect(printed.replaceAll(/[^\S\n]+/g, ' ')).toContain(row?.shows)
  })
})
