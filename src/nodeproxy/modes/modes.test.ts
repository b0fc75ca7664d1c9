import { expect, test } from 'vitest'
import type { MissingRequirement } from '../../modes/mode.ts'
import { type FakeDriver, fakeDriver } from '../../modes/testing/fake-driver.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { Modes } from './modes.ts'

const missing = (what: string): MissingRequirement => ({
  code: 'NP_LACK',
  what,
  remedy: `modprobe ${what}`,
})

function rig(values: Readonly<Record<string, unknown>> = {}) {
  const { log, lines } = recordingLog()
  const demands = ({ ipvs }: NodeProxyConfiguration) => ipvs.scheduler
  const ipvs = fakeDriver<NodeProxyConfiguration>('ipvs', { demands })
  const iptables = fakeDriver<NodeProxyConfiguration>('iptables')
  const drivers: readonly FakeDriver<NodeProxyConfiguration>[] = [ipvs, iptables]
  const parts = {
    drivers,
    log,
    inputsFor: (config: NodeProxyConfiguration) => ({
      config,
      node: undefined,
      facts: { families: [4], hairpin: 'rules', randomFully: true, routesLocalnet: false } as const,
      localAddresses: [],
    }),
  }
  const choose = () => Modes.choose(parts, configuration(values))
  return { ipvs, iptables, lines, choose }
}

test.each([
  ['', 'iptables'],
  ['iptables', 'iptables'],
  ['ipvs', 'ipvs'],
])('mode %j is %s, and the other is not even tried', async (mode, name) => {
  const { choose, ipvs, iptables, lines } = rig({ mode })
  const modes = await choose()
  expect(modes.current.name).toBe(name)
  expect(modes.others.map((other) => other.name)).toEqual([name === 'ipvs' ? 'iptables' : 'ipvs'])
  expect(ipvs.prepared.length + iptables.prepared.length).toBe(1)
  expect(lines).toEqual([
    `info the mode is chosen ${JSON.stringify({ mode: name, why: 'configured' })}`,
  ])
})

test('auto is the first mode that the kernel supports', async () => {
  const { choose, iptables } = rig({ mode: 'auto' })
  expect((await choose()).current.name).toBe('ipvs')
  expect(iptables.prepared).toEqual([])
})

test('auto logs why it passes on from the modes before the chosen one', async () => {
  const { choose, ipvs, lines } = rig({ mode: 'auto' })
  ipvs.missing = [missing('ip_vs'), missing('xt_set')]
  expect((await choose()).current.name).toBe('iptables')
  expect(lines[0]).toMatch(/^warn .*"mode":"ipvs","reasons":\["ip_vs","xt_set"\]/)
  expect(lines[1]).toMatch(/^info .*"mode":"iptables","why":"better modes were passed over"/)
})

test('auto passes on from a mode with a caveat; where it is configured, that is a warning', async () => {
  const auto = rig({ mode: 'auto' })
  auto.ipvs.caveats = [missing('accept')]
  expect((await auto.choose()).current.name).toBe('iptables')
  expect(auto.lines[0]).toMatch(/^warn .*"mode":"ipvs","reasons":\["accept"\]/)
  const configured = rig({ mode: 'ipvs' })
  configured.ipvs.caveats = [missing('accept')]
  expect((await configured.choose()).current.name).toBe('ipvs')
  expect(configured.lines[1]).toBe(
    `warn accept ${JSON.stringify({ code: 'NP_LACK', remedy: 'modprobe accept' })}`,
  )
})

test('auto takes a mode with a caveat where no mode works without', async () => {
  const { choose, ipvs, iptables, lines } = rig({ mode: 'auto' })
  ipvs.caveats = [missing('accept')]
  iptables.missing = [missing('nat')]
  expect((await choose()).current.name).toBe('ipvs')
  expect(lines.slice(2)).toEqual([
    expect.stringMatching(/^info .*"mode":"ipvs","why":"no mode works without a caveat"/),
    `warn accept ${JSON.stringify({ code: 'NP_LACK', remedy: 'modprobe accept' })}`,
  ])
})

test.each([
  ['ipvs', 'mode ipvs cannot work here: 2 requirements are not met'],
  ['iptables', 'mode iptables cannot work here: 1 requirement is not met'],
  ['auto', 'no mode can work here: 3 requirements of the modes ipvs, iptables are not met'],
])(
  'mode %s that cannot work is refused with the number of its requirements',
  async (mode, message) => {
    const { choose, ipvs, iptables } = rig({ mode })
    ipvs.missing = [missing('ip_vs'), missing('xt_set')]
    iptables.missing = [missing('nat')]
    iptables.caveats = [missing('accept')]
    await expect(choose()).rejects.toThrow(expect.objectContaining({ message }))
  },
)

test.each(['ipvs', 'auto'])('with mode %s every lack is an error of its own', async (mode) => {
  const { choose, ipvs, iptables, lines } = rig({ mode })
  ipvs.missing = [missing('ip_vs'), missing('xt_set')]
  iptables.missing = [{ ...missing('nat'), code: 'NP_OTHER' }]
  await expect(choose()).rejects.toThrow(
    expect.objectContaining({
      code: 'NP_LACK',
      hint: expect.stringContaining('modprobe ip_vs; modprobe xt_set'),
    }),
  )
  expect(lines.filter((line) => line.startsWith('error'))).toEqual(
    [...ipvs.missing, ...(mode === 'auto' ? iptables.missing : [])].map(
      ({ code, remedy, what }) => `error ${what} ${JSON.stringify({ code, remedy })}`,
    ),
  )
})

test('another mode is taken over only when the kernel can do it and the configuration is', async () => {
  const { choose, ipvs } = rig({ mode: 'iptables' })
  const modes = await choose()
  ipvs.missing = [missing('ip_vs')]
  expect(await modes.consider(configuration({ mode: 'ipvs' }))).toEqual({
    ok: false,
    reasons: ['ip_vs; modprobe ip_vs (NP_LACK)'],
  })
  ipvs.missing = []
  const verdict = await modes.consider(configuration({ mode: 'ipvs' }))
  expect(modes.current.name).toBe('iptables')
  if (verdict.ok) verdict.adopt()
  expect(modes.current.name).toBe('ipvs')
})

test('a configuration with the same requirements is not checked again', async () => {
  const { choose, ipvs } = rig({ mode: 'ipvs' })
  const modes = await choose()
  expect(await modes.consider(configuration({ mode: 'ipvs', clusterCIDR: [] }))).toMatchObject({
    ok: true,
  })
  expect(ipvs.prepared).toHaveLength(1)
})

test('new kernel requirements of the active mode are probed again', async () => {
  const { choose, ipvs } = rig({ mode: 'ipvs' })
  const modes = await choose()
  ipvs.missing = [missing('ip_vs_mh')]
  const changed = configuration({ mode: 'ipvs', 'ipvs.scheduler': 'sh' })
  expect(await modes.consider(changed)).toMatchObject({ ok: false })
  ipvs.missing = []
  const verdict = await modes.consider(changed)
  if (verdict.ok) verdict.adopt()
  expect(await modes.consider(changed)).toMatchObject({ ok: true })
  expect(ipvs.prepared).toHaveLength(3)
})

test('a mode that is not part of this build is refused with the names of those that are', async () => {
  const { choose } = rig()
  const modes = await choose()
  expect(await modes.consider(configuration({ mode: 'userspace' }))).toEqual({
    ok: false,
    reasons: [expect.stringMatching(/"userspace" is not part .* ipvs, iptables, auto$/)],
  })
})

test('close closes all drivers', async () => {
  const { choose, ipvs, iptables } = rig()
  await (await choose()).close()
  expect([ipvs.calls.close, iptables.calls.close]).toEqual([1, 1])
})
