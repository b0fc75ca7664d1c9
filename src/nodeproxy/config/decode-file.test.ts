import { describe, expect, it } from 'vitest'
import { decodeFile } from './decode-file.ts'
import { describeProblem } from './problem.ts'

const OWN = 'apiVersion: proxy.config.orch.io/v1alpha1\nkind: NodeProxyConfiguration\n'
const KUBE = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n'

function problems(text: string): string[] {
  return decodeFile('c.yaml', text).problems.map(describeProblem)
}

function values(text: string): Record<string, unknown> {
  const result = decodeFile('c.yaml', text)
  expect(result.problems).toEqual([])
  return Object.fromEntries([...result.settings].map(([path, { value }]) => [path, value]))
}

describe('decodeFile', () => {
  it('reads values of every shape, with the place of each', () => {
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

  it('reads sections of sections', () => {
    const text = `${OWN}ipvs:\n  scheduler: mh\n  gracefulTermination:\n    tcp: 5m\n    sctp: 0\n`
    expect(values(text)).toEqual({
      'ipvs.scheduler': 'mh',
      'ipvs.gracefulTermination.tcp': 300_000,
      'ipvs.gracefulTermination.sctp': 0,
    })
  })

  it('reads JSON', () => {
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
    ['<<: 1', /unknown field/],
    ['metadata: {name: x}', /unknown field/],
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
    ['nodePortAddresses: [[1]]', /write a list of plain values/],
    ['oomScoreAdj: 010', /leading zero/],
    ['oomScoreAdj: .inf', /write text, a number/],
    ['mode: ipvs\nmode: iptables', /4:1: the field stands here for the second time/],
    ['iptables:\n\tsyncPeriod: 3s', /4:1: tabs cannot indent YAML/],
    ['---\nmode: ipvs', /3:1: a second document/],
    ['mode: "ipvs', /not YAML/],
    ['mode: *nowhere', /leads nowhere/],
    ['{a: 1}: 2', /not YAML/],
    [`hostnameOverride: ${'"x'.padEnd(500, 'y')}\\n"\nhostnameOverride: 1`, /second time/],
  ])('explains %j', (line, message) => {
    expect(problems(`${OWN}${line}\n`)).toEqual([expect.stringMatching(message)])
  })

  it('reports everything that is wrong at once', () => {
    expect(problems(`${OWN}mode: x\noomScoreAdj: 5000\nfoo: 1\n`)).toHaveLength(3)
  })

  it.each([
    '',
    'just text',
    '- a\n- b',
    'mode: ipvs',
    'apiVersion: proxy.config.orch.io/v1\nkind: NodeProxyConfiguration',
    'apiVersion: proxy.config.orch.io/v1alpha1\nkind: KubeProxyConfiguration',
    'apiVersion: [x]\nkind: {}',
  ])('refuses a file that is no configuration: %j', (text) => {
    expect(problems(text)).toHaveLength(1)
  })

  it('does not let anchors or depth grow into work', () => {
    const layers = Array.from(
      { length: 30 },
      (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(9)}]`,
    )
    layers[0] = 'a0: &a0 [x]'
    expect(problems(`${OWN}${layers.join('\n')}\n`)).toHaveLength(30)
    expect(problems(`${OWN}iptables: &m\n  iptables: *m\n`)).toHaveLength(1)
    const loop = Array.from({ length: 3_000 }, (_, i) => `  x${i}: *m`).join('\n')
    const aliases = Array.from({ length: 101 }, (_, i) => `  x${i}: *a`).join('\n')
    expect(problems(`${OWN}mode: &a ipvs\niptables:\n${aliases}\n`)).toHaveLength(101)
    expect(
      problems(`${OWN}hostnameOverride: &a n\niptables:\n${aliases}\nproxyName: *a\n`),
    ).toContainEqual(
      expect.stringMatching(
        /^c\.yaml:106:12: proxyName: an alias that leads nowhere, or one of too many/,
      ),
    )
    expect(problems(`${KUBE}featureGates: &m\n${loop}\n`)).toEqual([])
    expect(problems(`${OWN}mode: ${'['.repeat(100_000)}`).length).toBeGreaterThan(0)
    expect(problems(`${OWN}# ${'x'.repeat(1_048_576)}\n`)).toEqual([
      expect.stringMatching(/larger than 1 MiB/),
    ])
    expect(problems(`${OWN}nodePortAddresses: [${'10.0.0.0/8,'.repeat(1_001)}]\n`)).toEqual([
      expect.stringMatching(/at most 1000 items/),
    ])
  })

  it('cuts long values in messages', () => {
    const [message] = problems(`${OWN}mode: ${'x'.repeat(10_000)}\n`)
    expect(message?.length).toBeLessThan(400)
  })

  it('follows an alias to a value', () => {
    expect(values(`${OWN}bindAddress: &a 10.0.0.1\nhealthzBindAddress: *a\n`)).toMatchObject({
      bindAddress: '10.0.0.1',
      healthzBindAddress: { ip: '10.0.0.1', port: 10_256 },
    })
  })
})

describe('a NodeProxyConfiguration', () => {
  it('means what it says: empty is none, zero is zero, null is the default', () => {
    expect(
      values(`${OWN}healthzBindAddress: ""\niptables:\n  minSyncPeriod: 0s\n  syncPeriod:\n`),
    ).toEqual({ healthzBindAddress: undefined, 'iptables.minSyncPeriod': 0 })
    expect(problems(`${OWN}iptables:\n  syncPeriod: 0s\n`)).toHaveLength(1)
  })
})

describe('a KubeProxyConfiguration', () => {
  it('takes zero values of a generated file as defaults, except where zero is a value', () => {
    expect(
      values(
        `${KUBE}healthzBindAddress: ""\nclientConnection: {qps: 0, burst: 0, contentType: ""}\niptables: {minSyncPeriod: 0s, syncPeriod: 0s, masqueradeBit: null}\nconntrack: {maxPerCore: 0, min: null, udpTimeout: 0s}\nmode: ""\ndetectLocalMode: ""\n`,
      ),
    ).toEqual({ 'conntrack.maxPerCore': 0, 'conntrack.udpTimeout': 0 })
  })

  it('warns once for each field that means nothing here and is not empty', () => {
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
