import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { defaultLimits } from '../../apiserver/context/limits.ts'
import { describeFault } from '../../lib/yaml.ts'
import { parseFlags } from '../../settings/flags.ts'
import { loadConfiguration } from '../../settings/load.ts'
import { configurationYaml } from '../../settings/settings.ts'
import { SETTINGS_TABLE } from './settings-table.ts'

const HEAD = 'apiVersion: server.config.orch.io/v1alpha1\nkind: OrchServerConfiguration\n'

async function load(text: string | undefined, ...args: string[]) {
  const flags = parseFlags(SETTINGS_TABLE, args)
  if (!flags.ok) throw new Error(describeFault(flags.problem))
  const file = text === undefined ? undefined : { name: 's.yaml', text }
  return loadConfiguration(SETTINGS_TABLE, file, flags.line)
}

async function loaded(text: string | undefined, ...args: string[]) {
  const result = await load(text, ...args)
  if (!result.ok) throw new Error(result.problems.map(describeFault).join('\n'))
  return result.config
}

async function problems(...args: string[]) {
  const result = await load(undefined, ...args)
  return result.ok ? [] : result.problems.map((one) => `${one.code} ${describeFault(one)}`)
}

describe('the configuration of orch-server', () => {
  it('is complete without a file or a flag', async () => {
    const { limits, ...config } = await loaded(undefined)
    expect(config).toEqual({
      dataDir: '/var/lib/orch-server',
      bindAddress: '127.0.0.1',
      advertiseAddress: '',
      securePort: 6443,
      dns: {
        addresses: [],
        domain: 'cluster.local',
        serverAddresses: [],
        clientNetworks: expect.arrayContaining(['127.0.0.0/8', '10.0.0.0/8', 'fc00::/7']),
        amplifiedBytesPerSecond: 1_048_576,
        forward: { upstreams: [], resolvConf: '' },
      },
      authentication: {
        anonymousPaths: ['/healthz', '/livez', '/readyz', '/version'],
        clientCAFile: '',
        tokenFile: '',
        oidc: {
          issuerURL: '',
          clientID: '',
          caFile: '',
          usernameClaim: 'sub',
          usernamePrefix: '',
          groupsClaim: '',
          groupsPrefix: '',
        },
      },
      serviceAccounts: {
        issuers: ['https://orch.default.svc'],
        audiences: [],
        signingKeyFile: '',
        keyFiles: [],
        maxTokenExpiration: 0,
        jwksURI: '',
      },
      kubeconfig: '',
      tls: { certFile: '', keyFile: '', extraNames: [] },
      page: { enabled: true },
      controllers: ['*'],
      loadBalancer: { addressPools: [], loadBalancerClass: '' },
      nodeEviction: { rate: 0.1, secondaryRate: 0.01, unhealthyShare: 0.55, largeZone: 50 },
      sandboxNode: {
        enabled: false,
        name: '',
        addresses: [],
        podCIDRs: ['10.244.0.0/24'],
        bridge: 'cbr0',
        namespacePrefix: 'orch-pod',
        clusterDNS: [],
        resolvConf: '/etc/resolv.conf',
      },
      audit: {
        policyFile: '',
        logPath: '',
        webhookConfigFile: '',
        logMaxMegabytes: 100,
        logMaxBackups: 10,
        logMaxAgeDays: 0,
      },
      kubelet: {
        clientCertFile: '',
        clientKeyFile: '',
        caFile: '',
        preferredAddressTypes: ['InternalIP', 'ExternalIP'],
        certificateDuration: 365 * 86_400_000,
      },
      etcd: { servers: [], caFile: '', certFile: '', keyFile: '', prefix: '/registry' },
      encryption: { keyFile: '' },
      services: {
        clusterIPRange: ['10.96.0.0/16'],
        nodePortRange: { first: 30_000, last: 32_767 },
      },
      logging: { verbosity: 0 },
    })
    expect(limits).toEqual(defaultLimits)
  })

  it('comes from a file, and flags win over it', async () => {
    const text = `${HEAD}dataDir: /d
etcd: {servers: ["https://a:2379", "https://b:2379"]}
services: {clusterIPRange: "10.7.0.0/16,fd00:7::/112"}
limits: {watchDuration: 5m, bookmarkPeriod: 2s}\n`
    const args = ['--data-dir=/e', '--tls-san=orch.example.org', '--tls-san=192.0.2.1']
    const config = await loaded(text, ...args)
    expect(config).toMatchObject({
      dataDir: '/e',
      etcd: { servers: ['https://a:2379', 'https://b:2379'] },
      services: { clusterIPRange: ['10.7.0.0/16', 'fd00:7::/112'] },
      tls: { extraNames: ['orch.example.org', '192.0.2.1'] },
    })
    expect(config.limits).toMatchObject({ watchDuration: 300_000, bookmarkPeriod: 2000 })
  })

  it('reads back as it was written', async () => {
    const config = await loaded(undefined, '--tls-san=*.example.org', '--max-watches=7')
    expect(await loaded(await configurationYaml(SETTINGS_TABLE, config))).toEqual(config)
  })

  it.each([
    ['--data-dir=', /FLAG --data-dir: "": write something/],
    ['--bind-address=localhost', /FLAG --bind-address: "localhost": write an IP address/],
    ['--secure-port=65536', /FLAG --secure-port: .*0 to 65535/],
    ['--tls-san=a b', /FLAG --tls-san\[0\]: "a b": write DNS names or IP addresses/],
    ['--etcd-servers=a,', /FLAG --etcd-servers\[1\]: "a,": write URLs/],
    ['--etcd-servers=a,b:99999', /FLAG --etcd-servers\[1\]: "a,b:99999": write URLs/],
    [
      '--kubelet-preferred-address-types=Hostname',
      /FLAG --kubelet-preferred-address-types\[0\]: "Hostname": write one of InternalIP, ExternalIP: names/,
    ],
    ['--node-eviction-rate=-1', /FLAG --node-eviction-rate: .*write a number from 0 to 1000/],
    ['--unhealthy-zone-threshold=55', /FLAG --unhealthy-zone-threshold: .*from 0 to 1/],
    ['--kubelet-preferred-address-types=', /CONFLICT .*without a type no kubelet is reached/],
    ['--cluster-signing-duration=59s', /FLAG --cluster-signing-duration: .*write at least 1m/],
    ['--kubelet-client-key=/k', /CONFLICT .*a certificate and its key go together/],
    ['--etcd-prefix=/', /FLAG --etcd-prefix: .*write a path such as \/registry/],
    ['--service-cluster-ip-range=', /FLAG --service-cluster-ip-range: .*such as 10\.96/],
    ['--service-cluster-ip-range=10.96.0.0/30', /CONFLICT --service.*too small.*at most \/29/],
    ['--service-cluster-ip-range=10.0.0.0/8', /CONFLICT --service.*too large.*at least \/12/],
    ['--service-cluster-ip-range=fd00::/48', /CONFLICT --service.*too large.*at least \/64/],
    ['--service-cluster-ip-range=0.0.0.0/0', /CONFLICT --service.*overlaps 0\.0\.0\.0\/8/],
    ['--service-cluster-ip-range=127.5.0.0/16', /CONFLICT --service.*overlaps 127\.0\.0\.0\/8/],
    ['--service-cluster-ip-range=169.254.0.0/20', /CONFLICT --service.*overlaps 169\.254/],
    ['--service-cluster-ip-range=239.0.0.0/16', /CONFLICT --service.*overlaps 224\.0\.0\.0\/4/],
    ['--service-cluster-ip-range=10.96.0.0/16,fe80::/112', /CONFLICT --service.*overlaps fe80::/],
    ['--service-cluster-ip-range=10.96.0.1/16', /FLAG --service.*write 10\.96\.0\.0\/16 if/],
    ['--service-cluster-ip-range=10.96.0.0/16,10.96.0.0/16', /FLAG --service.*each network once/],
    ['--service-cluster-ip-range=10.96.0.0/16,10.97.0.0/16', /FLAG --service.*one of each family/],
    ['--pod-cidr=', /FLAG --pod-cidr: "": is too small for a Pod; write a network such as/],
    ['--pod-cidr=10.0.0.0/31', /FLAG --pod-cidr: .*no longer than \/30/],
    ['--pod-cidr=10.0.0.0/30,fd00::/127', /FLAG --pod-cidr: .*\/126 for IPv6/],
    ['--service-node-port-range=', /FLAG --service-node-port-range: .*30000-32767/],
    ['--tls-cert-file=c', /CONFLICT --tls-cert-file: "c": .*tls\.keyFile/],
    ['--etcd-keyfile=c', /CONFLICT --etcd-keyfile: "c": .*etcd\.certFile/],
    ['--etcd-cafile=c', /CONFLICT --etcd-cafile: "c": without etcd\.servers/],
    [
      '--audit-policy-file=p',
      /CONFLICT --audit-policy-file: "p": .*set --audit-log-path or --audit-webhook-config-file/,
    ],
    ['--audit-log-path=l', /CONFLICT --audit-log-path: "l": .*set --audit-policy-file/],
    ['--audit-log-path=-', /CONFLICT --audit-log-path: "-": .*set --audit-policy-file/],
    [
      '--audit-webhook-config-file=w',
      /CONFLICT --audit-webhook-config-file: "w": .*set --audit-policy-file/,
    ],
    ['--audit-log-maxage=1', /CONFLICT --audit-log-maxage: 1: .*set --audit-log-path/],
    ['--audit-log-maxbackup=1', /CONFLICT --audit-log-maxbackup: 1: .*set --audit-log-path/],
    ['--audit-log-maxsize=1', /CONFLICT --audit-log-maxsize: 1: .*set --audit-log-path/],
    ['--audit-log-maxsize=0', /FLAG --audit-log-maxsize: .*a whole number from 1 to/],
    ['--audit-log-maxbackup=-1', /FLAG --audit-log-maxbackup: .*a whole number from 0 to/],
    ['--audit-log-maxage=x', /FLAG --audit-log-maxage: .*a whole number from 0 to/],
  ])('refuses %s', async (arg, message) => {
    expect(await problems(arg)).toEqual([expect.stringMatching(message)])
  })

  it('accepts networks that are large enough for one Pod', async () => {
    expect(await problems('--pod-cidr=10.0.0.0/30,fd00::/126')).toEqual([])
  })

  it('refuses certificates for an etcd without TLS', async () => {
    expect(await problems('--etcd-cafile=c', '--etcd-servers=http://a,https://b')).toEqual([])
    expect(await problems('--etcd-cafile=c', '--etcd-servers=http://a')).toEqual([
      expect.stringMatching(/CONFLICT --etcd-servers: .*write https:\/\//),
    ])
  })

  it('accepts an audit policy with either output or both, and bounds for a file alone', async () => {
    const [policy, webhook] = ['--audit-policy-file=p', '--audit-webhook-config-file=w']
    expect(await problems(policy, '--audit-log-path=l', '--audit-log-maxage=7')).toEqual([])
    expect(await problems(policy, webhook)).toEqual([])
    expect(await problems(policy, webhook, '--audit-log-path=-')).toEqual([])
    expect(await problems(policy, '--audit-log-path=-', '--audit-log-maxsize=7')).toEqual([
      expect.stringMatching(/CONFLICT --audit-log-maxsize: 7: only a file is rotated/),
    ])
  })

  it('refuses names for a certificate that it does not make', async () => {
    const files = ['--tls-cert-file=c', '--tls-private-key-file=k']
    expect(await problems(...files)).toEqual([])
    expect(await problems(...files, '--tls-san=a')).toEqual([
      expect.stringMatching(/CONFLICT --tls-san: .*has its own/),
    ])
  })
})

it('is documented: each field with flag and default', async () => {
  const page = new URL('../../../docs/operate/orch-server.md', import.meta.url)
  const rows = (await readFile(page, 'utf8')).split('\n')
  for (const [path, field] of SETTINGS_TABLE.entries) {
    const flag = field.flag === 'v' ? '`-v`' : `\`--${field.flag}\``
    const fallback = JSON.stringify(field.type.encode(field.fallback))
    const row = `| \`${path}\` | ${flag} | \`${fallback}\` | ${field.doc} |`
    expect(rows).toContain(row)
  }
})
