import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeFault } from '../../lib/yaml.ts'
import {
  compareConfigurations,
  configurationObject,
  configurationYaml,
  configzBody,
} from '../../settings/settings.ts'
import { parseFlags } from './flags.ts'
import { loadConfiguration } from './load.ts'
import { SETTINGS_TABLE } from './settings-table.ts'

const HEAD = 'apiVersion: proxy.config.orch.io/v1alpha1\nkind: NodeProxyConfiguration\n'

async function load(text: string | undefined, ...args: string[]) {
  const flags = parseFlags(args)
  if (!flags.ok) throw new Error(describeFault(flags.problem))
  const file = text === undefined ? undefined : { name: 'c.yaml', text }
  return loadConfiguration(file, flags.line)
}

async function loaded(text: string | undefined, ...args: string[]) {
  const result = await load(text, ...args)
  if (!result.ok) throw new Error(result.problems.map(describeFault).join('\n'))
  return result
}

describe('loadConfiguration', () => {
  it('gives the documented defaults', async () => {
    const { config, settings } = await loaded(undefined)
    expect(settings.size).toBe(0)
    expect(config).toMatchObject({
      mode: '',
      healthzBindAddress: { ip: '0.0.0.0', port: 10_256 },
      metricsBindAddress: { ip: '127.0.0.1', port: 10_249 },
      iptables: {
        masqueradeBit: 14,
        masqueradeAll: false,
        localhostNodePorts: false,
        syncPeriod: 30_000,
        minSyncPeriod: 0,
        backend: '',
      },
      clientConnection: { kubeconfig: '', qps: 5, burst: 10 },
      userspace: {
        entry: 'auto',
        bindMap: [],
        dataPath: 'auto',
        workers: 0,
        maxConnections: 0,
        maxConnectionsPerClient: 0,
        connectTimeout: 1_000,
        retryTimeout: 5_000,
        connectAttempts: 3,
        idleTimeout: 86_400_000,
        gracefulTermination: 900_000,
        shutdownTimeout: 20_000,
        affinityClients: 1_048_576,
        syncPeriod: 30_000,
        minSyncPeriod: 0,
        scheduler: 'rr',
      },
      oomScoreAdj: -999,
      conntrack: { maxPerCore: 32_768, min: 131_072, tcpEstablishedTimeout: 86_400_000 },
    })
  })

  it('prefers flags to the file and the file to defaults, and /configz shows the origin of each value', async () => {
    const text = `${HEAD}mode: iptables\niptables:\n  syncPeriod: 10s\n`
    const { config, settings } = await loaded(text, '--iptables-sync-period=20s')
    expect(config.iptables.syncPeriod).toBe(20_000)
    const { config: shown, origins } = JSON.parse(configzBody(SETTINGS_TABLE, config, settings))
    expect(shown.iptables.syncPeriod).toBe('20s')
    expect(origins).toMatchObject({
      'iptables.syncPeriod': 'flag --iptables-sync-period',
      mode: 'file c.yaml:3:7',
      oomScoreAdj: 'default',
    })
  })

  it('uses IPv6 addresses where bindAddress is IPv6, unless an address is set', async () => {
    const { config } = await loaded(
      undefined,
      '--bind-address=::',
      '--metrics-bind-address=127.0.0.1:9',
    )
    expect(config.healthzBindAddress).toEqual({ ip: '::', port: 10_256 })
    expect(config.metricsBindAddress).toEqual({ ip: '127.0.0.1', port: 9 })
  })

  it.each([
    [['--healthz-port=7'], { ip: '0.0.0.0', port: 7 }],
    [['--healthz-port=0'], undefined],
    [['--healthz-port=7', '--healthz-bind-address=10.0.0.1:8'], { ip: '10.0.0.1', port: 8 }],
    [['--healthz-bind-address=10.0.0.1:8', '--healthz-port=7'], { ip: '10.0.0.1', port: 8 }],
    [['--bind-address=::', '--healthz-port=7'], { ip: '::', port: 7 }],
  ])('%j serves healthz at %j', async (args, address) => {
    expect((await loaded(undefined, ...args)).config.healthzBindAddress).toEqual(address)
  })

  it('removes blanks from the node name and writes it in lower case, and refuses blanks alone', async () => {
    const { config } = await loaded(undefined, '--hostname-override= Node-A ')
    expect(config.hostnameOverride).toBe('node-a')
    expect((await load(undefined, '--hostname-override=  ')).ok).toBe(false)
  })

  it('combines the values of a list flag that is given twice', async () => {
    const args = ['--nodeport-addresses=10.0.0.0/8', '--nodeport-addresses=fd00::/8']
    expect((await loaded(undefined, ...args)).config.nodePortAddresses).toEqual([
      '10.0.0.0/8',
      'fd00::/8',
    ])
  })

  it('reads bindings of the file or of flags, and refuses one that is not ADDRESS=SERVICE', async () => {
    const text = `${HEAD}userspace:\n  bindMap: ["127.0.0.1:80=shop/cart"]\n`
    const flag = '--userspace-bind-map=127.0.0.1:81=shop/cart'
    const ports = ({ config }: Awaited<ReturnType<typeof loaded>>) =>
      config.userspace.bindMap.map(({ port }) => port)
    expect(ports(await loaded(text, '--userspace-entry=bind'))).toEqual([80])
    expect(ports(await loaded(text, flag, `${flag}:http/UDP`))).toEqual([81, 81])
    const wrong = await load(undefined, '--userspace-bind-map=127.0.0.1:80')
    expect(wrong.ok ? [] : wrong.problems.map(describeFault)).toEqual([
      expect.stringMatching(/^--userspace-bind-map\[0\]: "127\.0\.0\.1:80": write ADDRESS=SERVICE/),
    ])
  })

  it.each([
    [
      'iptables:\n  minSyncPeriod: 5s\n  syncPeriod: 4s',
      /4:18: iptables\.minSyncPeriod: "5s": minSyncPeriod 5s is longer than syncPeriod 4s/,
    ],
    [
      'detectLocalMode: BridgeInterface',
      /3:18: detectLocalMode.*needs detectLocal\.bridgeInterface/,
    ],
    ['detectLocalMode: InterfaceNamePrefix', /needs detectLocal\.interfaceNamePrefix/],
    ['userspace:\n  minSyncPeriod: 5s\n  syncPeriod: 4s', /4:18: userspace\.minSyncPeriod: "5s"/],
    ['userspace:\n  entry: bind', /4:10: userspace\.entry: "bind": .*needs userspace\.bindMap/],
    ['metricsBindAddress: "127.0.0.1:10256"', /want the same port/],
    ['announcement: { leaseDuration: 700ms }', /renewDeadline 600ms is more than 80 % of .* 700ms/],
    ['announcement: { renewInterval: 401ms }', /renewInterval 401ms is more than two thirds/],
    ['announcement: { bgp: { peers: [{ address: 10.0.0.1, asn: 1 }] } }', /bgp\.localASN; set it/],
    [
      'announcement: { bgp: { localASN: 1, peers: [{ address: "::1", asn: 1 }, { address: "0::1", asn: 2 }] } }',
      /peers\[1\] is the router of announcement\.bgp\.peers\[0\], ::1; remove one/,
    ],
    [
      'announcement: { bgp: { localASN: 1, peers: [{ address: "::1", asn: 1, sourceAddress: 10.0.0.1 }] } }',
      /peers\[0\]\.sourceAddress 10\.0\.0\.1 is not of the family of ::1/,
    ],
    ['metricsBindAddress: "[::]:10256"', /want the same port/],
  ])('refuses %j with the message %s', async (text, message) => {
    const result = await load(`${HEAD}${text}\n`)
    expect(result.ok ? [] : result.problems.map(describeFault)).toEqual([
      expect.stringMatching(message),
    ])
  })

  it.each([
    [
      'peers: [{ address: 10.0.0.1 }]',
      /5:13: announcement\.bgp\.peers\[0\]: .*: asn is missing; write it/,
    ],
    [
      'peers: [{ address: 10.0.0.1, asn: 0 }]',
      /peers\[0\]\.asn: 0: write a whole number from 1 to 4294/,
    ],
    [
      'peers: [{ address: ::1, asn: 1, communities: [x] }]',
      /peers\[0\]\.communities\[0\]: "x": write a community/,
    ],
    ['communities: [no-export, "70000:1"]', /bgp\.communities\[1\]: "70000:1": write a community/],
    ['routerID: "::1"', /bgp\.routerID: "::1": write an IPv4 address, or ""/],
    ['holdTime: 2s', /bgp\.holdTime: "2s": write at least 3s/],
    ['holdTime: 4500ms', /bgp\.holdTime: "4500ms": write whole seconds, at most 65535s/],
    ['localASN: 4294967296', /bgp\.localASN: 4294967296: write a whole number/],
  ])('refuses announcement.bgp with %s', async (text, message) => {
    const result = await load(`${HEAD}announcement:\n  bgp:\n    ${text}\n`)
    expect(result.ok ? [] : result.problems.map(describeFault)).toEqual([
      expect.stringMatching(message),
    ])
  })

  it('names the flag whose value conflicts with another setting', async () => {
    const result = await load(undefined, '--iptables-min-sync-period=1m')
    expect(result.ok ? [] : result.problems.map(describeFault)).toEqual([
      expect.stringMatching(/^--iptables-min-sync-period: "1m"/),
    ])
  })

  it('reports the problems of file and flags together', async () => {
    const result = await load(`${HEAD}mode: x\n`, '--oom-score-adj=5000')
    expect(result.ok ? 0 : result.problems.length).toBe(2)
  })

  it('warns of ignored and deprecated flags', async () => {
    const { warnings } = await loaded(undefined, '--logtostderr', '--metrics-port=9')
    expect(warnings.map(describeFault)).toEqual([
      '--metrics-port: deprecated; use --metrics-bind-address',
      expect.stringMatching(/^--logtostderr: ignored/),
    ])
  })
})

describe('a written configuration', () => {
  it('loads as the same configuration, whatever was set', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          bit: fc.nat({ max: 31 }),
          sync: fc.integer({ min: 1_000, max: 1e7 }),
          all: fc.boolean(),
          name: fc.constantFrom('', 'true', '123', 'null', '0x10', 'node-a', 'a: b', '#c'),
          addresses: fc.constantFrom('', 'primary', '10.0.0.0/8,fd00::/8'),
          healthz: fc.constantFrom('', '[::]:80', '10.0.0.1'),
          range: fc.constantFrom('', '80-90'),
          binding: fc.constantFrom('', '127.0.0.1:80=a/b', '[::1]:53=a/b:dns/UDP,[::1]:53=a/b'),
        }),
        async (want) => {
          const { config } = await loaded(
            undefined,
            `--iptables-masquerade-bit=${want.bit}`,
            `--iptables-sync-period=${want.sync}ms`,
            `--masquerade-all=${want.all}`,
            `--hostname-override=${want.name}`,
            `--nodeport-addresses=${want.addresses}`,
            `--healthz-bind-address=${want.healthz}`,
            `--proxy-port-range=${want.range}`,
            `--userspace-bind-map=${want.binding}`,
          )
          const again = await loaded(await configurationYaml(SETTINGS_TABLE, config))
          expect(again.config).toEqual(config)
          expect(again.warnings).toEqual([])
        },
      ),
      { numRuns: 50 },
    )
  })
})

describe('a setting of a nested section', () => {
  it('changes no other setting of its section', async () => {
    const { config } = await loaded(undefined, '--ipvs-graceful-termination-tcp=1m')
    expect(config.ipvs).toMatchObject({
      scheduler: '',
      gracefulTermination: { tcp: 60_000, udp: 0, sctp: 900_000 },
    })
    const { config: defaults } = await loaded(undefined)
    expect(compareConfigurations(SETTINGS_TABLE, defaults, config)).toEqual({
      live: ['ipvs.gracefulTermination.tcp'],
      restart: [],
    })
    expect(configurationObject(SETTINGS_TABLE, config)).toMatchObject({
      ipvs: { udpTimeout: '0s', gracefulTermination: { tcp: '1m', udp: '0s', sctp: '15m' } },
    })
  })
})

describe('compareConfigurations', () => {
  it('distinguishes live changes from those that require a restart', async () => {
    const { config: running } = await loaded(undefined)
    const { config: next } = await loaded(
      undefined,
      '--v=3',
      '--proxy-mode=ipvs',
      '--proxy-name=other',
      '--oom-score-adj=0',
      '--userspace-bind-map=127.0.0.1:80=a/b',
      '--userspace-workers=2',
    )
    expect(compareConfigurations(SETTINGS_TABLE, running, running)).toEqual({
      live: [],
      restart: [],
    })
    expect(compareConfigurations(SETTINGS_TABLE, running, next)).toEqual({
      live: ['mode', 'userspace.bindMap', 'oomScoreAdj', 'logging.verbosity'],
      restart: ['proxyName', 'userspace.workers'],
    })
  })
})
