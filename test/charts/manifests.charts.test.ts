import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { projectText } from './support/chart-files.ts'
import { type ChartShell, openChartShell } from './support/chart-shell.ts'
import {
  type ApiObject,
  comparable,
  manifestsIn,
  type Objects,
  objectsIn,
} from './support/objects.ts'
import { chartPrograms } from './support/programs.ts'

const { helms } = chartPrograms()

describe.each(helms)('helm $version', ({ path }) => {
  const shell = openChartShell({ helm: path })
  afterAll(() => shell[Symbol.dispose]())

  const rendered = async (flags = ''): Promise<Objects> =>
    comparable(
      objectsIn(
        await shell.run(`helm template node-proxy charts/node-proxy -n kube-system ${flags}`),
      ),
    )

  test('the chart node-proxy makes the objects of config/kubernetes/node-proxy', async () => {
    expect(await rendered()).toEqual(comparable(manifestsIn('node-proxy')))
  })

  test('with the server of names also those of config/kubernetes/dns', async () => {
    const expected = { ...manifestsIn('node-proxy'), ...manifestsIn('dns') }
    expect(await rendered('--set clusterDns.enabled=true')).toEqual(comparable(expected))
  })

  test('with remote inspection also those of config/kubernetes/inspection', async () => {
    const expected = { ...manifestsIn('node-proxy'), ...manifestsIn('inspection') }
    expect(await rendered('--set remoteInspection.enabled=true')).toEqual(comparable(expected))
  })

  test('with network policies also what the component of that name permits', async () => {
    const expected = comparable(objectsIn(await built(shell, 'overlays/network-policy')))
    expect(await rendered('--set networkPolicy.enabled=true')).toEqual(expected)
    const configured = await rendered('--set config.networkPolicy.enforce=true')
    expect(Object.keys(configured).toSorted()).toEqual(Object.keys(expected).toSorted())
    const off = await rendered('--set config.networkPolicy.enforce=auto')
    expect(Object.keys(off).filter((name) => name.includes('network-policy'))).toEqual([])
  })

  test('with announcements also what the component of that name permits', async () => {
    const expected = comparable(objectsIn(await built(shell, 'overlays/announcement')))
    expect(await rendered('--set announcement.enabled=true')).toEqual(expected)
    const configured = await rendered('--set config.announcement.layer2=true')
    expect(Object.keys(configured).toSorted()).toEqual(Object.keys(expected).toSorted())
  })

  test('the chart orch-server makes the objects of config/kubernetes/orch-server', async () => {
    const text = await shell.run('helm template orch-server charts/orch-server -n orch-system')
    const { 'Namespace orch-system': _, ...expected } = manifestsIn('orch-server')
    expect(comparable(objectsIn(text))).toEqual(comparable(expected))
  })

  test('with the values of the take-over it makes the objects of that overlay', async () => {
    const overlay = objectsIn(await built(shell, 'overlays/take-over'))
    expect(await rendered('-f charts/node-proxy/examples/take-over.yaml')).toEqual(
      comparable(overlay),
    )
  })
})

const shell = openChartShell({ helm: helms[0]!.path })
afterAll(() => shell[Symbol.dispose]())

function built(where: ChartShell, folder: string): Promise<string> {
  return where.run(`kubectl kustomize config/kubernetes/${folder}`)
}

async function overlay(name: string): Promise<Objects> {
  return objectsIn(await built(shell, `overlays/${name}`))
}

test.each(['node-proxy', 'dns', 'inspection', 'orch-server'])(
  'config/kubernetes/%s is a base with all its objects',
  async (folder) => {
    expect(objectsIn(await built(shell, folder))).toEqual(manifestsIn(folder))
  },
)

interface Container {
  readonly args: readonly string[]
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

interface PodSpec {
  readonly affinity?: unknown
  readonly initContainers: readonly [Container]
  readonly containers: readonly [Container]
  readonly volumes: readonly object[]
}

function podOf(object: ApiObject | undefined): PodSpec {
  return (object as unknown as { spec: { template: { spec: PodSpec } } }).spec.template.spec
}

/** The flags that an overlay adds to the first container and to the daemon. */
async function addedFlags(name: string): Promise<readonly (readonly string[])[]> {
  const [base, changed] = [manifestsIn('node-proxy'), await overlay(name)].map((objects) =>
    podOf(objects['DaemonSet node-proxy']),
  )
  return (['initContainers', 'containers'] as const).map((key) => {
    const before = base![key][0].args
    expect(changed![key][0].args.slice(0, before.length)).toEqual(before)
    return changed![key][0].args.slice(before.length)
  })
}

test.each(['nftables', 'ipvs'])(
  'the overlay %s chooses the mode in both containers',
  async (mode) => {
    expect(await addedFlags(mode)).toEqual([[`--proxy-mode=${mode}`], [`--proxy-mode=${mode}`]])
    expect(Object.keys(await overlay(mode))).toEqual(
      expect.arrayContaining(Object.keys(manifestsIn('node-proxy'))),
    )
  },
)

test('the overlay dual-stack has networks and addresses of both families', async () => {
  expect(await addedFlags('dual-stack')).toEqual([
    ['--proxy-mode=nftables'],
    ['--proxy-mode=nftables', '--cluster-cidr=10.244.0.0/16,fd00:10:244::/56'],
  ])
  const objects = await overlay('dual-stack')
  const clusterIPs = ['10.96.0.10', 'fd00:10:96::a']
  expect(objects['Service cluster-dns']).toMatchObject({
    spec: { clusterIP: '10.96.0.10', clusterIPs, ipFamilyPolicy: 'RequireDualStack' },
  })
  expect(podOf(objects['Deployment cluster-dns']).containers[0].args).toContain(
    `--dns-server-address=${clusterIPs.join()}`,
  )
})

test('the overlay kube-proxy-config mounts what kubeadm made, and changes nothing else', async () => {
  const { 'ConfigMap node-proxy': _, ...base } = manifestsIn('node-proxy')
  const objects = await overlay('kube-proxy-config')
  expect(Object.keys(objects).toSorted()).toEqual(Object.keys(base).toSorted())
  const kubeadm = parse(projectText('test/support/kubeadm/kube-proxy.daemonset.yaml')) as ApiObject
  const [configMount] = podOf(kubeadm).containers[0].volumeMounts
  const pod = podOf(objects['DaemonSet node-proxy'])
  for (const { args, volumeMounts } of [...pod.initContainers, ...pod.containers]) {
    expect(args[0]).toBe(`--config=${configMount!.mountPath}/config.conf`)
    expect(volumeMounts[0]).toMatchObject({ name: 'config', mountPath: configMount!.mountPath })
  }
  expect(pod.volumes[0]).toEqual({ name: 'config', configMap: { name: 'kube-proxy' } })
})

test.each([
  ['charts/node-proxy/examples/take-over.yaml', 'node-proxy-patch.yaml'],
  ['charts/node-proxy/examples/after-take-over.yaml', 'node-proxy-everywhere-patch.yaml'],
])('%s places Pods as config/take-over/%s does', (values, patch) => {
  const { affinity } = parse(projectText(values)) as { readonly affinity: unknown }
  const placed = podOf(parse(projectText(`config/take-over/${patch}`)) as ApiObject)
  expect(affinity).toEqual(placed.affinity)
})
