import { basename } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { SETTINGS_TABLE as NODE_PROXY } from '../../src/nodeproxy/config/settings-table.ts'
import { SETTINGS_TABLE as ORCH_DNS } from '../../src/orchdns/program.ts'
import { SETTINGS_TABLE as ORCH_SERVER } from '../../src/orchserver/config/settings-table.ts'
import type { AnyField } from '../../src/settings/field.ts'
import { put } from '../../src/settings/settings.ts'
import type { Raw, ValueSchema } from '../../src/settings/value-type.ts'
import { type ChartName, chartCopies, projectText } from './support/chart-files.ts'
import { openChartShell } from './support/chart-shell.ts'
import { type ApiObject, objectsIn } from './support/objects.ts'
import { chartPrograms } from './support/programs.ts'

type Fields = readonly (readonly [path: string, field: AnyField])[]

const DAEMON: Fields = NODE_PROXY.entries
const SERVER: Fields = ORCH_SERVER.entries
const NAMES: Fields = ORCH_DNS.entries.map(([, field]) => [field.flag, field])

/** A value that no field of this schema takes. */
function wrongValue({ type, enum: words, maximum, pattern }: ValueSchema): Raw {
  if (type === 'integer' || type === 'number') return maximum! + 1
  if (words !== undefined || type === 'boolean' || type === 'array') return WRONG_TEXT
  if (pattern === undefined) return 7
  return [WRONG_TEXT, ' '].find((text) => !new RegExp(pattern).test(text)) ?? 7
}

const WRONG_TEXT = 'no such "value" ?#'

/** Another value than the default, the greatest number, that the field takes; for texts and lists the default. */
function otherValue({ type, fallback }: AnyField): Raw {
  const { schema } = type
  const usual = type.encode(fallback)
  if (schema.type === 'boolean') return usual !== true
  if (schema.type === 'integer') return schema.maximum!
  return schema.enum?.at(-1) ?? usual
}

function treeOf(fields: Fields, valueOf: (field: AnyField) => Raw): Record<string, unknown> {
  const tree: Record<string, unknown> = {}
  for (const [path, field] of fields) put(tree, path, valueOf(field))
  return tree
}

const wrong = ({ type }: AnyField): Raw => wrongValue(type.schema)

describe.each(chartPrograms().helms)('helm $version', ({ path, version }) => {
  const shell = openChartShell({ helm: path })
  afterAll(() => shell[Symbol.dispose]())

  const template = (chart: ChartName, flags: string): string =>
    `helm template ${chart} charts/${chart} --namespace some-system ${flags}`
  const rendered = async (chart: ChartName, flags: string) =>
    objectsIn(await shell.run(template(chart, flags)))
  const withValues = (values: object): string => {
    shell.write('values.yaml', stringify(values))
    return '--values values.yaml'
  }

  /** The places that helm refuses: `config.mode`. */
  const refusedBy = async (chart: ChartName, values: object): Promise<readonly string[]> => {
    const said = await shell.fails(template(chart, withValues(values)))
    const places = version.startsWith('3.')
      ? [...said.matchAll(/^- ([\w.-]+): /gm)].map(([, place = '']) => place)
      : [...said.matchAll(/^ *- at '\/([^']+)': (?!validation failed)/gm)].map(([, place = '']) =>
          place.replaceAll('/', '.'),
        )
    return [...new Set(places)].toSorted()
  }

  test('both charts pass helm lint, also with every option', async () => {
    const all = '--set podMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true'
    const more = '--set clusterDns.enabled=true,clusterDns.serviceMonitor.enabled=true'
    const address = '--set config.metricsBindAddress=0.0.0.0:10249,remoteInspection.enabled=true'
    const monitored = '--set serviceMonitor.enabled=true,prometheusRule.enabled=true'
    for (const flags of [
      'charts/node-proxy charts/orch-server',
      `charts/node-proxy ${all} ${more} ${address}`,
      `charts/orch-server ${monitored},dashboards.enabled=true`,
    ]) {
      expect(await shell.run(`helm lint --strict ${flags}`)).toContain('0 chart(s) failed')
    }
  })

  test('a wrong value of any field is refused with its name', async () => {
    const values = {
      config: treeOf(DAEMON, wrong),
      clusterDns: { flags: Object.fromEntries(NAMES.map(([flag, field]) => [flag, wrong(field)])) },
    }
    expect(await refusedBy('node-proxy', values)).toEqual(
      [
        ...DAEMON.map(([field]) => `config.${field}`),
        ...NAMES.map(([flag]) => `clusterDns.flags.${flag}`),
      ].toSorted(),
    )
    expect(await refusedBy('orch-server', { config: treeOf(SERVER, wrong) })).toEqual(
      SERVER.map(([field]) => `config.${field}`).toSorted(),
    )
  })

  test('a misspelt value is refused', async () => {
    const values = { config: { ipvs: { shceduler: 'rr' } } }
    expect(await refusedBy('node-proxy', values)).toEqual(['config.ipvs'])
    expect(await refusedBy('node-proxy', { clusterDNS: {} })).toEqual(expect.any(Array))
    expect(await shell.fails(template('node-proxy', withValues(values)))).toContain('shceduler')
  })

  test('every field reaches the file of its program as it was written', async () => {
    const config = treeOf(DAEMON, otherValue)
    const { 'ConfigMap node-proxy': daemon } = await rendered('node-proxy', withValues({ config }))
    expect(fileOf(daemon)).toEqual({ ...kindOf(NODE_PROXY), ...config })

    const server = { ...treeOf(SERVER, otherValue), dataDir: '/var/lib/orch-server/data' }
    const tls = { certFile: '/tls.crt', keyFile: '/tls.key', extraNames: [] }
    const written = { ...server, tls }
    const objects = await rendered('orch-server', withValues({ config: written }))
    expect(fileOf(objects['ConfigMap orch-server'])).toEqual({ ...kindOf(ORCH_SERVER), ...written })
  })

  test('every flag reaches orch-dns as it was written, lists with commas', async () => {
    const flags = Object.fromEntries(NAMES.map(([flag, field]) => [flag, otherValue(field)]))
    const given = { ...flags, 'dns-address': ['10.0.0.1:53'], 'dns-server-address': ['10.96.0.9'] }
    const values = withValues({ clusterDns: { enabled: true, flags: given } })
    const { 'Deployment cluster-dns': deployment } = await rendered('node-proxy', values)
    expect(containersOf(deployment)[0]!.args.toSorted()).toEqual(
      Object.entries(given)
        .map(([flag, value]) => `--${flag}=${Array.isArray(value) ? value.join() : String(value)}`)
        .toSorted(),
    )
  })

  test('the names of the Service are in the certificate of orch-server, and those of the user', async () => {
    const flags = '--set config.tls.extraNames="{api.example.org}",fullnameOverride=api'
    const objects = await rendered('orch-server', flags)
    expect(fileOf(objects['ConfigMap api'])).toMatchObject({
      tls: {
        extraNames: [
          'api',
          'api.some-system',
          'api.some-system.svc',
          'api.some-system.svc.cluster.local',
          'api.example.org',
        ],
      },
    })
  })

  test.each([
    ['', { host: '127.0.0.1', port: 10_256 }],
    ['0.0.0.0:1234', { host: '127.0.0.1', port: 1234 }],
    ['192.0.2.7:1234', { host: '192.0.2.7', port: 1234 }],
    ['192.0.2.7', { host: '192.0.2.7', port: 10_256 }],
    ['[::]:1234', { host: '::1', port: 1234 }],
    ['[fd00::7]:1234', { host: 'fd00::7', port: 1234 }],
    ['fd00::7', { host: 'fd00::7', port: 10_256 }],
  ])('healthzBindAddress %j is probed at %j', async (address, target) => {
    const config = address === '' ? {} : { healthzBindAddress: address }
    const { 'DaemonSet node-proxy': set } = await rendered('node-proxy', withValues({ config }))
    const [container] = containersOf(set)
    expect(container!.livenessProbe?.httpGet).toEqual({ path: '/livez', ...target })
    expect(container!.readinessProbe?.httpGet).toEqual({ path: '/readyz', ...target })
  })

  test('without health checks there are no probes', async () => {
    const config = { healthzBindAddress: '' }
    const { 'DaemonSet node-proxy': set } = await rendered('node-proxy', withValues({ config }))
    expect(containersOf(set)[0]).not.toHaveProperty('livenessProbe')
    expect(containersOf(set)[0]).not.toHaveProperty('readinessProbe')
  })

  test('the Pods of node-proxy have what its values say', async () => {
    const values = {
      image: { repository: 'registry.example/np', digest: `sha256:${'0'.repeat(64)}` },
      apiServer: { host: 'api.example.org' },
      extraArgs: ['--proxy-mode=ipvs'],
      privileged: true,
      priorityClassName: 'high',
      tolerations: [],
      podAnnotations: { a: 'b' },
      extraVolumes: [{ name: 'tls', secret: { secretName: 'tls' } }],
      extraVolumeMounts: [{ name: 'tls', mountPath: '/tls' }],
    }
    const { 'DaemonSet node-proxy': set } = await rendered('node-proxy', withValues(values))
    const [daemon] = containersOf(set)
    const [prepare] = containersOf(set, 'initContainers')
    for (const { image, args, volumeMounts } of [daemon!, prepare!]) {
      expect(image).toBe(`registry.example/np@sha256:${'0'.repeat(64)}`)
      expect(args.at(-1)).toBe('--proxy-mode=ipvs')
      expect(volumeMounts.at(-1)).toEqual({ name: 'tls', mountPath: '/tls' })
    }
    expect(daemon!.env).toEqual([
      expect.objectContaining({ name: 'NODE_NAME' }),
      { name: 'KUBERNETES_SERVICE_HOST', value: 'api.example.org' },
      { name: 'KUBERNETES_SERVICE_PORT', value: '6443' },
    ])
    expect(daemon!.securityContext).toEqual({ privileged: true, readOnlyRootFilesystem: true })
    expect(set).toMatchObject({
      spec: {
        template: { metadata: { annotations: { a: 'b' } }, spec: { priorityClassName: 'high' } },
      },
    })
    expect(set).not.toHaveProperty('spec.template.spec.tolerations')
  })

  test('Pods are replaced for a setting that needs a new start, and for no other', async () => {
    const annotationFor = async (config: object): Promise<string | undefined> => {
      const { 'DaemonSet node-proxy': set } = await rendered('node-proxy', withValues({ config }))
      return annotationsOf(set)['orch.io/restart-settings']
    }
    const live = { mode: 'nftables', ipvs: { scheduler: 'wrr' }, logging: { verbosity: 4 } }
    expect(await annotationFor({})).toBeUndefined()
    expect(await annotationFor(live)).toBeUndefined()
    const found = await Promise.resolve([
      await annotationFor({ proxyName: 'a' }),
      await annotationFor({ proxyName: 'b' }),
      await annotationFor({ proxyName: 'b', ...live }),
      await annotationFor({ inspection: { gid: 7 } }),
    ])
    expect(found[1]).toMatch(/^[0-9a-f]{64}$/)
    expect(found[1]).toBe(found[2])
    expect(new Set(found).size).toBe(3)
  })

  test('metrics are read at an address of the node, and named as the alerts name them', async () => {
    const enabled = '--set podMonitor.enabled=true'
    expect(await shell.fails(template('node-proxy', enabled))).toMatch(
      /podMonitor\.enabled: .*"127\.0\.0\.1:10249".*set config\.metricsBindAddress to/,
    )
    const objects = await rendered(
      'node-proxy',
      `${enabled},config.metricsBindAddress=0.0.0.0:9999`,
    )
    expect(containersOf(objects['DaemonSet node-proxy'])[0]!.ports).toEqual([
      { name: 'metrics', protocol: 'TCP', containerPort: 9999 },
    ])
    expect(objects['PodMonitor node-proxy']).toMatchObject({
      spec: {
        podMetricsEndpoints: [
          {
            port: 'metrics',
            relabelings: [
              { targetLabel: 'job', replacement: 'node-proxy' },
              { sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'instance' },
            ],
          },
        ],
      },
    })
  })

  test.each(['node-proxy', 'orch-server'] as const)(
    'alerts and dashboards arrive in %s as config has them',
    async (chart) => {
      const enabled = '--set prometheusRule.enabled=true,dashboards.enabled=true'
      const names = chart === 'node-proxy' ? ',clusterDns.enabled=true' : ''
      const objects = await rendered(chart, enabled + names)
      const copies = chartCopies().filter((copy) => copy.chart === chart)
      const groups = copies
        .filter(({ file }) => file.startsWith('rules/'))
        .flatMap(({ source }) => (parse(projectText(source)) as { groups: object[] }).groups)
      expect(groups).not.toEqual([])
      expect(objects[`PrometheusRule ${chart}`]!['spec']).toEqual({ groups })
      const dashboards = copies.filter(({ file }) => file.startsWith('dashboards/'))
      expect(dashboards).not.toEqual([])
      for (const { source } of dashboards) {
        const name = basename(source, '.json')
        expect(objects[`ConfigMap ${chart}-dashboard-${name}`]).toMatchObject({
          metadata: { labels: { grafana_dashboard: '1' } },
          data: { [`${chart}-${name}.json`]: projectText(source).trim() },
        })
      }
    },
  )

  test('without a server of names there are no alerts of it', async () => {
    const objects = await rendered('node-proxy', '--set prometheusRule.enabled=true')
    expect(JSON.stringify(objects['PrometheusRule node-proxy'])).not.toContain('OrchDnsDown')
  })

  test('the server of names has an address of each family', async () => {
    const flags = '--set clusterDns.enabled=true,clusterDns.clusterIPs="{10.0.0.9,fd00::9}"'
    const objects = await rendered('node-proxy', flags)
    expect(objects['Service cluster-dns']).toMatchObject({
      spec: {
        clusterIP: '10.0.0.9',
        clusterIPs: ['10.0.0.9', 'fd00::9'],
        ipFamilyPolicy: 'RequireDualStack',
      },
    })
    const [container] = containersOf(objects['Deployment cluster-dns'])
    expect(container!.args).toContain('--dns-server-address=10.0.0.9,fd00::9')
  })

  test('several servers need what they share, and get a budget for evictions', async () => {
    const missing = [
      ['etcd.servers', { etcd: { servers: ['https://etcd:2379'] } }],
      ['encryption.keyFile', { encryption: { keyFile: '/keys' } }],
      ['serviceAccounts.signingKeyFile', { serviceAccounts: { signingKeyFile: '/sa.key' } }],
      ['tls.certFile', { tls: { certFile: '/tls.crt', keyFile: '/tls.key' } }],
    ] as const
    let config = {}
    for (const [name, part] of missing) {
      const said = await shell.fails(template('orch-server', withValues({ replicas: 2, config })))
      expect(said).toContain(`several servers need config.${name}`)
      config = { ...config, ...part }
    }
    const objects = await rendered('orch-server', withValues({ replicas: 2, config }))
    expect(objects['PodDisruptionBudget orch-server']).toMatchObject({
      spec: { maxUnavailable: 1 },
    })
  })

  test('a port that no Service finds is refused', async () => {
    const said = await shell.fails(template('orch-server', '--set config.securePort=0'))
    expect(said).toContain('config.securePort: 0 is any free port')
    const objects = await rendered('orch-server', '--set config.securePort=7443')
    expect(containersOf(objects['StatefulSet orch-server'])[0]).toMatchObject({
      ports: [{ containerPort: 7443 }],
      readinessProbe: { httpGet: { path: '/readyz', port: 7443, scheme: 'HTTPS' } },
    })
  })
})

interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly env?: readonly object[]
  readonly ports?: readonly object[]
  readonly securityContext: object
  readonly livenessProbe?: { readonly httpGet: object }
  readonly readinessProbe?: { readonly httpGet: object }
  readonly volumeMounts: readonly object[]
}

interface Workload {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
      readonly spec: Readonly<Record<'containers' | 'initContainers', readonly Container[]>>
    }
  }
}

function containersOf(
  object: ApiObject | undefined,
  key: 'containers' | 'initContainers' = 'containers',
): readonly Container[] {
  return (object as unknown as Workload).spec.template.spec[key]
}

function annotationsOf(object: ApiObject | undefined): Readonly<Record<string, string>> {
  return (object as unknown as Workload).spec.template.metadata.annotations ?? {}
}

/** The file in a ConfigMap. */
function fileOf(object: ApiObject | undefined): unknown {
  return parse((object!['data'] as Readonly<Record<string, string>>)['config.yaml']!)
}

function kindOf({
  kind,
}: {
  readonly kind: { readonly apiVersion: string; readonly kind: string }
}) {
  return { apiVersion: kind.apiVersion, kind: kind.kind }
}
