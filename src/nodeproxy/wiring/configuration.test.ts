import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { parseFlags } from '../config/flags.ts'
import type { Launch } from '../config/load.ts'
import { loadConfiguration } from '../config/load.ts'
import type { Verdict } from '../modes/modes.ts'
import { recordingLog } from '../testing/wiring.ts'
import { Configuration } from './configuration.ts'

const HEAD = 'apiVersion: proxy.config.orch.io/v1alpha1\nkind: NodeProxyConfiguration\n'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'np-configuration-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function rig(text: string | undefined, ...args: readonly string[]) {
  const name = join(folder, 'c.yaml')
  const file = text === undefined ? undefined : { name, text: HEAD + text }
  if (file) await writeFile(name, file.text)
  const flags = parseFlags([...args])
  if (!flags.ok) throw new Error('wrong flags')
  const loaded = await loadConfiguration(file, flags.line)
  if (!loaded.ok) throw new Error('wrong file')
  const { log, lines } = recordingLog()
  const metrics = createMetrics()
  const launch: Launch = {
    ...loaded,
    line: flags.line,
    file,
    log,
    version: '1',
    reload: (changed) => loadConfiguration(changed, flags.line),
  }
  const considered: string[] = []
  const verdict: { current: Verdict } = {
    current: { ok: true, adopt: () => considered.push('adopted') },
  }
  const consider = async (config: NodeProxyConfiguration) => {
    considered.push(config.mode)
    return verdict.current
  }
  const conditions = new Conditions({ log, metrics })
  const parts = { launch, clock: systemClock, metrics, conditions, consider }
  const configuration = new Configuration(parts)
  let changes = 0
  configuration.follow(() => changes++)
  return {
    configuration,
    lines,
    considered,
    verdict,
    changes: () => changes,
    conditions: () => conditions.current(),
    /** Writes another file and waits until it was dealt with. */
    async change(next: string): Promise<string> {
      await writeFile(name, HEAD + next)
      const before = lines.length
      configuration.reread()
      await expect.poll(() => lines.length).toBeGreaterThan(before)
      return lines.at(-1) ?? ''
    },
    reloads: async () =>
      (await metrics.text())
        .split('\n')
        .filter((line) => line.startsWith('nodeproxy_config_reloads')),
  }
}

test('a changed file is applied, and the changed fields are logged', async () => {
  const { configuration, change, changes, reloads } = await rig('clusterCIDR: 10.0.0.0/8\n')
  const said = await change('clusterCIDR: 10.0.0.0/9\niptables: { masqueradeBit: 20 }\n')
  expect(said).toBe(
    'info applied the changed configuration {"changed":["iptables.masqueradeBit","clusterCIDR"]}',
  )
  expect([configuration.current.iptables.masqueradeBit, changes()]).toEqual([20, 1])
  expect(JSON.parse(configuration.describe()).config.clusterCIDR).toBe('10.0.0.0/9')
  expect(await reloads()).toEqual(['nodeproxy_config_reloads_total{result="applied"} 1'])
  configuration.close()
})

test.each([
  ['a mistake', 'clusterCIDR: nonsense\n', 'nonsense'],
  ['what needs a new start', 'hostnameOverride: other\n', 'hostnameOverride cannot change'],
  ['both', 'hostnameOverride: other\nclusterCIDR: 10.0.0.0/9\n', 'hostnameOverride cannot change'],
])('%s is refused as a whole, and the reason is logged', async (_, text, reason) => {
  const { configuration, change, changes, reloads } = await rig('clusterCIDR: 10.0.0.0/8\n')
  const before = configuration.current
  const said = await change(text)
  expect(said).toMatch(/^error .* the previous one stays in use/)
  expect(said).toContain(reason)
  expect([configuration.current, changes()]).toEqual([before, 0])
  expect(await reloads()).toEqual(['nodeproxy_config_reloads_total{result="refused"} 1'])
  configuration.close()
})

test('a file with a mode that the kernel does not support is refused', async () => {
  const { configuration, change, changes, reloads, considered, verdict } =
    await rig('mode: iptables\n')
  verdict.current = { ok: false, reasons: ['no ip_vs'] }
  expect(await change('mode: ipvs\n')).toContain('"reasons":["no ip_vs"]')
  expect([configuration.current.mode, changes(), considered]).toEqual(['iptables', 0, ['ipvs']])
  expect(await reloads()).toEqual(['nodeproxy_config_reloads_total{result="refused"} 1'])
  configuration.close()
})

test('a mode is adopted together with its configuration', async () => {
  const { configuration, change, changes, considered } = await rig('mode: iptables\n')
  await change('mode: ipvs\n')
  expect([configuration.current.mode, changes(), considered]).toEqual([
    'ipvs',
    1,
    ['ipvs', 'adopted'],
  ])
  configuration.close()
})

test('the kernel is probed only for a valid file', async () => {
  const { configuration, change, considered } = await rig('mode: iptables\n')
  await change('mode: ipvs\nclusterCIDR: nonsense\n')
  await change('mode: ipvs\nhostnameOverride: other\n')
  expect(considered).toEqual([])
  configuration.close()
})

test('a file with another text and the same values changes nothing', async () => {
  const { configuration, change, changes } = await rig('clusterCIDR: 10.0.0.0/8\n')
  expect(await change('clusterCIDR: "10.0.0.0/8" # the same\n')).toContain('"changed":[]')
  expect(changes()).toBe(0)
  configuration.close()
})

test('flags take precedence over a changed file', async () => {
  const { configuration, change } = await rig(
    'clusterCIDR: 10.0.0.0/8\n',
    '--cluster-cidr=10.9.0.0/16',
  )
  await change('clusterCIDR: 10.0.0.0/9\n')
  expect(configuration.current.clusterCIDR).toEqual(['10.9.0.0/16'])
  configuration.close()
})

test('reread does nothing without a file', async () => {
  const { configuration, lines } = await rig(undefined)
  configuration.reread()
  configuration.close()
  expect(lines).toEqual([])
})

test('a refused file is a condition, until the file is right again', async () => {
  const { configuration, change, conditions } = await rig('mode: iptables\n')
  await change('mode: ipvss\n')
  expect(conditions()).toEqual([
    {
      reason: 'configuration-refused',
      message: expect.stringMatching(
        /^the changed configuration file ".*c\.yaml" is refused, .* in use: .*mode: "ipvss"/,
      ),
      blocksReadiness: false,
    },
  ])
  await change('mode: iptables\nclusterCIDR: 10.0.0.0/9\n')
  expect(conditions()).toEqual([])
  configuration.close()
})
