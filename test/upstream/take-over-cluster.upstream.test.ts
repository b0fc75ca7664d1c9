import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { kubeconfigText } from '../support/lab/kubeconfig.ts'
import { root } from '../support/on-demand/root.ts'
import { commandsOf } from './take-over/page-commands.ts'
import { useUpstreamLab } from './use-upstream-lab.ts'

const FIXTURES = 'test/support/kubeadm'
const NODES = ['node-a', 'node-b']
/** Objects that wait for containers, which do not run here. */
const NEEDS_KUBELET = / (rollout status|logs) /
const SOON = { interval: 200 }

const lab = useUpstreamLab({
  api: 'kube-apiserver',
  program: 'kube-controller-manager',
  flags: [
    '--leader-elect=false',
    '--use-service-account-credentials',
    '--controllers=daemonset,garbagecollector',
  ],
  ready: 'Caches are synced for daemon sets',
})

beforeAll(async () => {
  const { api, apiServer } = lab()
  const kubeconfig = kubeconfigText({ ...api, credential: apiServer.admin() })
  writeFileSync(join(lab().folder, 'admin.kubeconfig'), kubeconfig)
  for (const name of NODES) {
    const labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name }
    await lab().api.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
  }
  await run(`kubectl delete node test-node`)
  await run(
    `kubectl apply -f ${FIXTURES}/kube-proxy.configmap.yaml -f ${FIXTURES}/kube-proxy.daemonset.yaml`,
  )
})

function run(line: string): Promise<string> {
  const script = `cd '${root}' && export KUBECONFIG='${lab().folder}/admin.kubeconfig' && ${line}`
  return lab().node.namespace.exec(['sh', '-euc', script], { timeoutMs: 60_000 })
}

async function runSection(heading: string, node: string): Promise<void> {
  for (const command of commandsOf(heading)) {
    if (!NEEDS_KUBELET.test(command)) await run(command.replace('NODE', node))
  }
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly ownerReferences: readonly { readonly name: string }[] }
    readonly spec: { readonly affinity: unknown }
  }[]
}

/** `DaemonSet node` of each Pod, as the controller has placed them. */
async function placed(): Promise<string[]> {
  const { items } = JSON.parse(await run('kubectl -n kube-system get pods -o json')) as PodList
  return items
    .map(({ metadata, spec }) => {
      const node = /"metadata\.name".*?\["([\w-]+)"\]/.exec(JSON.stringify(spec.affinity))?.[1]
      const field = /"values":\["(node-\w)"\]/.exec(JSON.stringify(spec.affinity))?.[1]
      return `${metadata.ownerReferences[0]?.name} ${node ?? field}`
    })
    .toSorted()
}

test('the commands of the page move one node, then the others, and back', async () => {
  await expect.poll(placed, SOON).toEqual(['kube-proxy node-a', 'kube-proxy node-b'])
  await runSection('Prepare the DaemonSets', '')
  await expect.poll(placed, SOON).toEqual(['kube-proxy node-a', 'kube-proxy node-b'])

  await run(commandsOf('Move nodes to node-proxy')[0]!.replace('NODE', 'node-a'))
  await expect
    .poll(placed, SOON)
    .toEqual(['kube-proxy node-a', 'kube-proxy node-b', 'node-proxy node-a'])
  await runSection('Move nodes to node-proxy', 'node-a')
  const moved = ['clean-up-kube-proxy node-a', 'kube-proxy node-b', 'node-proxy node-a']
  await expect.poll(placed, SOON).toEqual(moved)
  const image = '-o jsonpath={.spec.template.spec.initContainers[0].image}'
  const cleanUp = await run(`kubectl -n kube-system get daemonset clean-up-kube-proxy ${image}`)
  expect(cleanUp).toBe('kube-proxy:v1.20.2')

  await runSection('Move nodes to node-proxy', 'node-b')
  await runSection('When every node has moved', '')
  const labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': 'node-c' }
  await lab().api.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-c', labels } })
  const all = [...NODES, 'node-c']
  await expect.poll(placed, SOON).toEqual(all.map((node) => `node-proxy ${node}`))

  await runSection('Move nodes back to kube-proxy', '--all')
  await expect.poll(placed, SOON).toEqual(all.map((node) => `kube-proxy ${node}`))
})
