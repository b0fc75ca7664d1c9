import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'
import { linesOf } from '../support/pages/page-commands.ts'
import { blockOf, blocksOf, spanOf } from '../support/pages/page-section.ts'
import { projectText } from './support/chart-files.ts'
import { type ChartShell, openChartShell } from './support/chart-shell.ts'
import { chartPrograms } from './support/programs.ts'

/** The commands of this page run here; those that wait for Pods do not, because nobody makes Pods here. */
const PAGE = { page: 'helm.md' }
const NEEDS_PODS = / (?:rollout status|exec) /

let server: OrchServerProcess
let shell: ChartShell

beforeAll(async () => {
  server = await startOrchServer()
  const [newest] = chartPrograms().helms
  shell = openChartShell({ helm: newest!.path, kubeconfig: server.kubeconfig })
  shell.write('node-proxy-values.yaml', blocksOf(PAGE.page, 'Install', 'yaml')[0]!)
  shell.write('node.yaml', 'apiVersion: v1\nkind: Node\nmetadata: { name: node-7 }\n')
  await shell.run('kubectl create namespace kube-system || true; kubectl apply -f node.yaml')
})

afterAll(async () => {
  shell?.[Symbol.dispose]()
  await server?.[Symbol.asyncDispose]()
})

/** Runs the commands of a block of the page; resolves to what they printed. */
async function follow(heading: string, block = 0): Promise<string> {
  const commands = linesOf(blockOf(PAGE.page, heading, block))
  let said = ''
  for (const command of commands) if (!NEEDS_PODS.test(command)) said += await shell.run(command)
  return said
}

function objects(...kinds: readonly string[]): Promise<string> {
  return shell.run(`kubectl -n kube-system get ${kinds.join()} -o name`)
}

test('node-proxy: install, upgrade, options, roll back, uninstall', async () => {
  expect(await follow('Install', 0)).toContain('STATUS: deployed')
  const image = "-o jsonpath='{.spec.template.spec.containers[0].image}'"
  expect(await shell.run(`kubectl -n kube-system get daemonset/node-proxy ${image}`)).toBe(
    'registry.example.org/node-proxy:0.1.0',
  )
  const refused = await shell.fails(
    'helm install other charts/node-proxy --set config.mode=nftable',
  )
  const [shown = ''] = blocksOf(PAGE.page, 'Install', 'text')
  for (const line of shown.trim().split('\n').slice(1)) expect(refused).toContain(line)

  expect(await follow('Upgrade')).toContain('REVISION: 2')
  await follow('Names, other machines, monitoring')
  expect(await objects('deployment', 'configmap')).toContain('deployment.apps/cluster-dns')
  expect(await follow('Roll back')).toContain('Rollback was a success')
  expect(await objects('deployment')).toBe('')
  await follow('Uninstall')
  expect(await objects('daemonset')).toBe('')
})

test('node-proxy: what kubectl applied is taken over', async () => {
  await shell.run('kubectl apply -f config/kubernetes/node-proxy/')
  expect(await follow('Install', 1)).toContain('STATUS: deployed')
  await shell.run('helm uninstall node-proxy --namespace kube-system')
})

test('node-proxy: the take-over from kube-proxy', async () => {
  const affinity = "-o jsonpath='{.spec.template.spec.affinity}'"
  const placed = () => shell.run(`kubectl -n kube-system get daemonset/node-proxy ${affinity}`)
  await follow('Take over from kube-proxy', 0)
  expect(await placed()).toContain('"values":["both","node-proxy"]')
  await follow('Take over from kube-proxy', 1)
  expect(await placed()).toContain('"operator":"NotIn"')
  await shell.run('helm uninstall node-proxy --namespace kube-system')
})

test('orch-server: install, upgrade, roll back, uninstall', async () => {
  expect(await follow('Install it', 0)).toContain('STATUS: deployed')
  expect(await follow('Upgrade and roll it back')).toContain('Rollback was a success')
  await follow('Uninstall it')
  expect(await shell.run('helm list --all-namespaces -q')).toBe('')
  shell.write('several.yaml', blocksOf(PAGE.page, 'Install it', 'yaml')[0]!)
  await shell.run('helm template orch-server charts/orch-server --values several.yaml')
})

test('kustomize: the overlays, one of my own, and that of the take-over', async () => {
  await shell.run(blockOf('install.md', 'With kustomize', 0))
  const [own = ''] = blocksOf('install.md', 'With kustomize', 'yaml')
  await shell.run('mkdir my-cluster')
  shell.write('my-cluster/kustomization.yaml', own)
  await shell.run(blockOf('install.md', 'With kustomize', 1))
  const set = await shell.run('kubectl -n kube-system get daemonset/node-proxy -o yaml')
  expect(set).toContain('image: registry.example.org/node-proxy:0.1.0')
  expect(set).toContain('--proxy-mode=ipvs')
  await shell.run('kubectl delete -k my-cluster')

  await shell.run('kubectl apply -f config/kubernetes/node-proxy/rbac.yaml')
  expect(
    await shell.run(
      spanOf('take-over.md', 'kubectl apply -k config/kubernetes/overlays/take-over'),
    ),
  ).toContain('daemonset.apps/node-proxy created')
  expect(projectText('docs/operate/take-over.md')).toContain('overlays/take-over')
})
