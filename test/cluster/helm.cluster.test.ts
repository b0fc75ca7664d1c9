import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ChartShell, openChartShell } from '../charts/support/chart-shell.ts'
import { chartPrograms } from '../charts/support/programs.ts'
import { blockOf, blocksOf } from '../support/pages/page-section.ts'
import { clientOutside } from './lab/clients.ts'
import { expectNoneFailed, startLoadTargets } from './lab/load.ts'
import { nodePortOf } from './lab/lookups.ts'
import { type Mode, servesIn } from './lab/node-proxy.ts'
import { LAN, POD_NETWORKS } from './lab/plan.ts'
import { useCluster } from './lab/use-cluster.ts'

const MINUTES = 60_000
/** The commands of this page about node-proxy, whose Pods kubelets run here. */
const PAGE = { page: 'helm.md' }

const cluster = useCluster(2)
let shell: ChartShell
beforeAll(() => {
  const [newest] = chartPrograms().helms
  const kubeconfig = cluster().kubectl.command.find((word) => word.startsWith('--kubeconfig='))
  shell = openChartShell({
    helm: newest?.path ?? '',
    kubeconfig: kubeconfig?.slice('--kubeconfig='.length) ?? '',
  })
  useValues('nftables')
})
afterAll(() => shell?.[Symbol.dispose]())

test(
  'install: every node serves',
  async () => {
    expect(await follow('Install', 0)).toContain('STATUS: deployed')
    await allServeIn('nftables')
    await startLoadTargets(cluster())
    await expectNoneFailed(cluster(), 'no change', async () => void (await podNames()))
  },
  10 * MINUTES,
)

test(
  'upgrade: a live setting replaces no Pod, another one all of them, and no connection fails',
  async () => {
    const installed = await podNames()
    await expectNoneFailed(cluster(), 'helm upgrade, another mode', async () => {
      useValues('iptables')
      expect(await follow('Upgrade', 0)).toContain('REVISION: 2')
      await allServeIn('iptables')
    })
    expect(await podNames()).toEqual(installed)
    await expectNoneFailed(cluster(), 'helm upgrade, a setting that needs a start', async () => {
      useValues('iptables', '  clientConnection: { burst: 20 }\n')
      await follow('Upgrade', 0)
    })
    expect((await podNames()).filter((name) => installed.includes(name))).toEqual([])
  },
  15 * MINUTES,
)

test(
  'roll back: the first release serves again, and no connection fails',
  async () => {
    await expectNoneFailed(cluster(), 'helm rollback', async () => {
      expect(await follow('Roll back', 0)).toContain('Rollback was a success')
      await cluster().kubectl.rolledOut('daemonset/node-proxy', 'kube-system')
      await allServeIn('nftables')
    })
  },
  10 * MINUTES,
)

test(
  'uninstall: the rules forward until a Pod has removed them',
  async () => {
    const [uninstall = '', ...cleanUp] = blockOf('helm.md', 'Uninstall', 0).trim().split('\n')
    await shell.run(uninstall)
    await shell.run(
      'kubectl -n kube-system wait --for=delete pod -l app.kubernetes.io/name=node-proxy --timeout=60s',
    )
    const url = `http://${cluster().nodes[0]?.addresses.v4}:${await nodePortOf(cluster().kubectl, 'web')}/`
    const connect = () => clientOutside().connect({ kind: 'http', url, everyMs: 10, count: 20 })
    expect((await connect()).failures).toEqual({})
    for (const command of cleanUp) await shell.run(command)
    expect((await connect()).answers).toEqual({})
    for (const node of cluster().nodes) {
      expect(await node.run('nft list ruleset; iptables-nft-save; ipset list')).not.toMatch(
        /nproxy|node-proxy|NP[A-Z]*-/,
      )
    }
  },
  10 * MINUTES,
)

/** Runs the commands of a block of the page; resolves to what they printed. */
async function follow(heading: string, block: number): Promise<string> {
  return shell.run(blockOf(PAGE.page, heading, block))
}

/** The values of the page, of this cluster. */
function useValues(mode: Mode, more = ''): void {
  const [text = ''] = blocksOf(PAGE.page, 'Install', 'yaml')
  const values = text
    .replace('registry.example.org/node-proxy', 'node-proxy')
    .replace('10.244.0.0/16 ', `${POD_NETWORKS} `)
    .replace('192.0.2.10', LAN.v4)
    .replace('mode: nftables', `mode: ${mode}`)
    .replace(/^apiServer:/m, `${more}apiServer:`)
  shell.write('node-proxy-values.yaml', values)
}

async function allServeIn(mode: Mode): Promise<void> {
  await Promise.all(cluster().nodes.map((node) => servesIn(node, mode)))
}

async function podNames(): Promise<readonly string[]> {
  const names = "-o jsonpath='{.items[*].metadata.name}'"
  const said = await shell.run(
    `kubectl -n kube-system get pods -l app.kubernetes.io/name=node-proxy ${names}`,
  )
  return said.split(' ')
}
