import { describe, expect, it } from 'vitest'
import { describeFault } from '../../lib/yaml.ts'
import * as settings from '../../settings/decode-file.ts'
import { SETTINGS_TABLE } from './settings-table.ts'

const OWN = 'apiVersion: proxy.config.orch.io/v1alpha1\nkind: NodeProxyConfiguration\n'
const KUBE = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n'

function decodeFile(name: string, text: string) {
  return settings.decodeFile(SETTINGS_TABLE, { name, text })
}

function problems(text: string): string[] {
  return decodeFile('c.yaml', text).problems.map(describeFault)
}

function values(text: string): Record<string, unknown> {
  const result = decodeFile('c.yaml', text)
  expect(result.problems).toEqual([])
  return Object.fromEntries([...result.settings].map(([path, { value }]) => [path, value]))
}

describe('a file of the daemon', () => {
  it('has values of every type, each with its file, line and column', () => {
    const text = `${OWN}mode: ipvs\nipvs:\n  strictARP: true\n  excludeCIDRs: [10.0.0.0/8]\noomScoreAdj: -5\n`
    expect(values(text)).toEqual({
      mode: 'ipvs',
      'ipvs.strictARP': true,
      'ipvs.excludeCIDRs': ['10.0.0.0/8'],
      oomScoreAdj: -5,
    })
    expect(decodeFile('c.yaml', text).settings.get('ipvs.strictARP')?.origin).toEqual({
      from: 'file',
      at: { file: 'c.yaml', line: 5, column: 14 },
    })
  })

  it('may have nested sections', () => {
    const text = `${OWN}ipvs:\n  scheduler: mh\n  gracefulTermination:\n    tcp: 5m\n    sctp: 0\n`
    expect(values(text)).toEqual({
      'ipvs.scheduler': 'mh',
      'ipvs.gracefulTermination.tcp': 300_000,
      'ipvs.gracefulTermination.sctp': 0,
    })
  })

  it('may be JSON', () => {
    expect(
      values(
        '{"apiVersion":"proxy.config.orch.io/v1alpha1","kind":"NodeProxyConfiguration","mode":"auto"}',
      ),
    ).toEqual({ mode: 'auto' })
  })

  it.each([
    ['mode: ipvss', /^c\.yaml:3:7: mode: "ipvss": did you mean "ipvs"\?/],
    ['iptables:\n  syncPeriod: 30', /^c\.yaml:4:15: iptables\.syncPeriod: 30: write a duration/],
    [
      'iptables:\n  syncPeroid: 3s',
      /4:3: iptables\.syncPeroid: unknown field; did you mean iptables\.syncPeriod\?/,
    ],
    ['iptable:\n  syncPeriod: 3s', /3:1: iptable: unknown field; did you mean iptables\?/],
    ['syncPeriod: 3s', /did you mean iptables\.syncPeriod\?/],
    ['zzz: 1', /3:1: zzz: unknown field; remove it/],
    ['enableProfiling: true', /a field of KubeProxyConfiguration only; remove it/],
    [
      'ipvs:\n  gracefulTermination: 5m',
      /4:24: ipvs\.gracefulTermination: "5m": write a map of fields/,
    ],
    [
      'ipvs:\n  gracefulTermination:\n    tpc: 5m',
      /5:5: ipvs\.gracefulTermination\.tpc: unknown field; did you mean ipvs\.gracefulTermination\.tcp\?/,
    ],
    ['gracefulTermination: {tcp: 5m}', /3:1: gracefulTermination: unknown field/],
    ['conntrack: 5', /3:12: conntrack: 5: write a map of fields/],
    ['mode: {a: 1}', /3:7: mode: write one value, not a map/],
  ])('with %j is refused with the message %s', (line, message) => {
    expect(problems(`${OWN}${line}\n`)).toEqual([expect.stringMatching(message)])
  })
})

describe('a NodeProxyConfiguration', () => {
  it('has literal values: an empty text is none, zero is zero; null is the default', () => {
    expect(
      values(`${OWN}healthzBindAddress: ""\niptables:\n  minSyncPeriod: 0s\n  syncPeriod:\n`),
    ).toEqual({ healthzBindAddress: undefined, 'iptables.minSyncPeriod': 0 })
    expect(problems(`${OWN}iptables:\n  syncPeriod: 0s\n`)).toHaveLength(1)
  })
})

describe('a KubeProxyConfiguration', () => {
  it('has zero values that are read as defaults, except where zero has a meaning', () => {
    expect(
      values(
        `${KUBE}healthzBindAddress: ""\nclientConnection: {qps: 0, burst: 0, contentType: ""}\niptables: {minSyncPeriod: 0s, syncPeriod: 0s, masqueradeBit: null}\nconntrack: {maxPerCore: 0, min: null, udpTimeout: 0s}\nmode: ""\ndetectLocalMode: ""\n`,
      ),
    ).toEqual({ 'conntrack.maxPerCore': 0, 'conntrack.udpTimeout': 0 })
  })

  it.each([
    ['mode: nftables\n', 'primary'],
    ['nodePortAddresses: []\nmode: nftables\n', 'primary'],
    ['mode: nftables\nnodePortAddresses: [10.0.0.0/8]\n', ['10.0.0.0/8']],
    ['mode: iptables\n', undefined],
    ['nodePortAddresses: []\nmode: ipvs\n', []],
  ])('serves node ports where kube-proxy does: %j', (text, value) => {
    expect(values(KUBE + text)['nodePortAddresses']).toEqual(value)
  })

  it('causes one warning for each ignored field that is not empty', () => {
    const text = `${KUBE}featureGates: {A: true, B: false}\nwinkernel:\n  enableDSR: true\n  networkName: ""\nlogging:\n  format: text\n  verbosity: 2\n  options: {json: {infoBufferSize: "0"}}\nnftables: {masqueradeAll: false, syncPeriod: 0s}\n`
    const { warnings, problems: wrong, settings } = decodeFile('c.yaml', text)
    expect(wrong).toEqual([])
    expect(warnings.map((warning) => warning.field)).toEqual([
      'featureGates',
      'winkernel.enableDSR',
      'logging.format',
    ])
    expect(settings.get('logging.verbosity')?.value).toBe(2)
  })
})

describe('the table of fields', () => {
  it('has defaults that each field itself accepts and writes back', () => {
    for (const [path, field] of SETTINGS_TABLE.entries) {
      const encoded = field.type.encode(field.fallback)
      expect([path, field.type.decode(encoded)]).toEqual([
        path,
        { ok: true, value: field.fallback },
      ])
    }
  })

  it('has one flag for each field and one line of documentation', () => {
    const flags = SETTINGS_TABLE.entries.map(([, field]) => field.flag)
    expect(new Set(flags).size).toBe(flags.length)
    for (const [path, { doc }] of SETTINGS_TABLE.entries)
      expect([path, doc]).toEqual([path, expect.stringMatching(/^[A-Z].*\.$/)])
  })
})
