import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'
import { type ChartShell, openChartShell } from './support/chart-shell.ts'
import { chartPrograms } from './support/programs.ts'

/** Each helm has a server of its own, with the account of a user who may do everything. */
describe.each(chartPrograms().helms)('helm $version on orch-server', ({ path, version }) => {
  let server: OrchServerProcess
  let shell: ChartShell
  beforeAll(async () => {
    server = await startOrchServer()
    shell = openChartShell({ helm: path, kubeconfig: server.kubeconfig })
    await shell.run('kubectl create namespace kube-system || true')
  })
  afterAll(async () => {
    shell?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
  })

  afterEach(() => shell.run(`helm uninstall node-proxy ${IN} --ignore-not-found`))

  const isHelm3 = version.startsWith('3.')
  const IN = '--namespace kube-system'
  const CHART = `node-proxy charts/node-proxy ${IN}`

  const field = (object: string, jsonpath: string): Promise<string> =>
    shell.run(`kubectl ${IN} get ${object} -o jsonpath='${jsonpath}'`)
  const generation = (): Promise<string> => field('daemonset/node-proxy', '{.metadata.generation}')
  const annotation = (): Promise<string> =>
    field('daemonset/node-proxy', '{.metadata.annotations.by}')
  const file = (): Promise<string> => field('configmap/node-proxy', '{.data.config\\.yaml}')
  const revisions = async (): Promise<readonly string[]> => {
    const text = await shell.run(`helm history node-proxy ${IN} -o json`)
    const all = JSON.parse(text) as readonly { revision: number; status: string }[]
    return all.map(({ revision, status }) => `${revision} ${status}`)
  }
  const named = async (kinds: string, where = IN): Promise<readonly string[]> => {
    const text = await shell.run(`kubectl ${where} get ${kinds} -o name`)
    return text
      .split('\n')
      .filter((name) => /(?<!system:)(?:node-proxy|cluster-dns|orch-server)/.test(name))
  }

  const KINDS =
    'daemonset,deployment,poddisruptionbudget,service,configmap,serviceaccount,clusterrole,clusterrolebinding,secret'

  test('node-proxy and the server of names are installed, upgraded, rolled back and uninstalled', async () => {
    const said = await shell.run(`helm install ${CHART} --set clusterDns.enabled=true`)
    expect(said).toContain('kubectl -n kube-system rollout status daemonset/node-proxy')
    expect(said).toContain('clusterDNS: 10.96.0.10')
    expect(await named(KINDS)).toEqual([
      'daemonset.apps/node-proxy',
      'deployment.apps/cluster-dns',
      'poddisruptionbudget.policy/cluster-dns',
      'service/cluster-dns',
      'configmap/node-proxy',
      'serviceaccount/cluster-dns',
      'serviceaccount/node-proxy',
      'clusterrole.rbac.authorization.k8s.io/cluster-dns',
      'clusterrole.rbac.authorization.k8s.io/node-proxy',
      'clusterrolebinding.rbac.authorization.k8s.io/cluster-dns',
      'clusterrolebinding.rbac.authorization.k8s.io/node-proxy',
      'secret/sh.helm.release.v1.node-proxy.v1',
    ])
    expect(await field('service/cluster-dns', '{.spec.clusterIP}')).toBe('10.96.0.10')
    const first = await file()
    expect(await generation()).toBe('1')

    await shell.run(`helm upgrade ${CHART} --reuse-values --set config.mode=nftables`)
    expect(await file()).toContain('mode: nftables')
    expect(await generation()).toBe('1')
    await shell.run(`helm upgrade ${CHART} --reuse-values --set config.proxyName=blue`)
    expect(await generation()).toBe('2')

    await shell.run(`kubectl ${IN} annotate daemonset/node-proxy by=hand`)
    await shell.run(`helm upgrade ${CHART} --reuse-values --set clusterDns.enabled=false`)
    expect(await named('deployment,poddisruptionbudget')).toEqual([])
    expect(await annotation()).toBe('hand')

    await shell.run(`helm rollback node-proxy 1 ${IN}`)
    expect(await file()).toBe(first)
    expect(await named('deployment,poddisruptionbudget')).toHaveLength(2)
    expect(await annotation()).toBe('hand')
    expect(await field('daemonset/node-proxy', '{.spec.template.metadata.annotations}')).toBe('')
    expect(await revisions()).toEqual([
      '1 superseded',
      '2 superseded',
      '3 superseded',
      '4 superseded',
      '5 deployed',
    ])

    await shell.run(`helm uninstall node-proxy ${IN}`)
    expect(await named(KINDS)).toEqual([])
  })

  test('a dry run on the server writes nothing, and what the server refuses leaves the release as it was', async () => {
    await shell.run(`helm install ${CHART} --dry-run=server`)
    expect(await named(KINDS)).toEqual([])

    await shell.run(`helm install ${CHART}`)
    const big = '--set updateStrategy.type=Big'
    expect(await shell.fails(`helm upgrade ${CHART} ${big}`)).toContain('spec.updateStrategy.type')
    expect(await field('daemonset/node-proxy', '{.spec.updateStrategy.type}')).toBe('RollingUpdate')
    expect(await revisions()).toEqual(['1 deployed', '2 failed'])
    await shell.run(`helm upgrade ${CHART} --set config.mode=ipvs`)
    expect(await revisions()).toEqual(['1 superseded', '2 failed', '3 deployed'])
  })

  test('--wait waits for what the status of the objects says', async () => {
    const isPending = async (): Promise<boolean> => {
      const releases = await shell.run(`helm list ${IN} --pending -o json`)
      return (JSON.parse(releases) as readonly unknown[]).length === 1
    }
    // A node without a kubelet: the Pod of the DaemonSet does not start by itself.
    await shell.run(
      `echo '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"kubernetes.io/os":"linux"}}}' | kubectl apply -f -`,
    )
    const waiting = shell.run(`helm install ${CHART} --wait --timeout 90s`)
    await expect.poll(() => named('pod')).toEqual([expect.stringMatching(/^pod\/node-proxy-/)])
    expect(await isPending()).toBe(true)
    const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
    await shell.run(
      `kubectl ${IN} patch $(kubectl ${IN} get pod -o name) --subresource=status --type=merge -p '${JSON.stringify({ status: ready })}'`,
    )
    await waiting
    expect(await isPending()).toBe(false)
    expect(await revisions()).toEqual(['1 deployed'])

    const late = await shell.fails(
      `helm upgrade ${CHART} --set podLabels.tier=net --wait --timeout 2s`,
    )
    expect(late).toMatch(/context deadline exceeded|timed out/)
    expect(await revisions()).toEqual(['1 deployed', '2 failed'])
  })

  test('what kubectl applied is taken over, and its Pods stay', async () => {
    await shell.run('kubectl apply -f config/kubernetes/node-proxy/')
    expect(await shell.fails(`helm install ${CHART}`)).toMatch(/cannot be imported|ownership/)
    const uid = await field('daemonset/node-proxy', '{.metadata.uid}')
    const flags = isHelm3 ? '--take-ownership' : '--take-ownership --force-conflicts'
    await shell.run(`helm install ${CHART} ${flags}`)
    expect(await field('daemonset/node-proxy', '{.metadata.uid}')).toBe(uid)
    expect(await generation()).toBe('1')
    await shell.run(`helm uninstall node-proxy ${IN}`)
    expect(await named(KINDS)).toEqual([])
  })

  test('orch-server is installed, upgraded, rolled back and uninstalled', async () => {
    const where = '--namespace orch-system'
    const chart = `orch-server charts/orch-server ${where}`
    const kinds = 'statefulset,service,configmap,serviceaccount,secret'
    const configured = (): Promise<string> =>
      shell.run(
        `kubectl ${where} get statefulset/orch-server -o jsonpath='{.metadata.generation} {.spec.template.metadata.annotations.orch\\.io/configuration}'`,
      )
    await shell.run(`helm install ${chart} --create-namespace`)
    expect(await named(kinds, where)).toEqual([
      'statefulset.apps/orch-server',
      'service/orch-server',
      'configmap/orch-server',
      'serviceaccount/orch-server',
      'secret/sh.helm.release.v1.orch-server.v1',
    ])
    const [, first] = (await configured()).split(' ')
    await shell.run(`helm upgrade ${chart} --set config.logging.verbosity=3`)
    expect(await configured()).not.toContain(first)
    await shell.run(`helm rollback orch-server ${where}`)
    expect(await configured()).toBe(`3 ${first}`)
    await shell.run(`helm uninstall orch-server ${where}`)
    expect(await named(kinds, where)).toEqual([])
  })

  test('without the Prometheus operator its kinds are refused by name', async () => {
    const said = await shell.fails(
      'helm install monitored charts/node-proxy --set prometheusRule.enabled=true',
    )
    expect(said).toContain('no matches for kind "PrometheusRule"')
    expect(await shell.run('helm list --all-namespaces -q')).toBe('')
  })
})
