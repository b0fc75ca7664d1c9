import { describe, expect, it } from 'vitest'
import { metricsDocument } from './document.ts'
import { createMetrics } from './metrics.ts'
import { METRIC_TABLE, PREFIX } from './registry.ts'

const NAMES = Object.values(METRIC_TABLE).map(({ name }) => PREFIX + name)

describe('createMetrics', () => {
  it('exports every row of the table, typed, with its help', async () => {
    const metrics = createMetrics()
    const text = await metrics.text()
    for (const { name, type, help } of Object.values(METRIC_TABLE)) {
      expect(text).toContain(`# HELP ${PREFIX}${name} ${help}\n# TYPE ${PREFIX}${name} ${type}\n`)
    }
    expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/)
  })

  it('exports nothing under the prefix that the table does not know', async () => {
    const text = await createMetrics().text()
    const exported = [...text.matchAll(/^# TYPE (nodeproxy_\S+)/gm)].map(([, name]) => name)
    expect(new Set(exported)).toEqual(new Set(NAMES))
  })

  it('adds up in a registry of its own', async () => {
    const [one, other] = [createMetrics(), createMetrics()]
    one.driftRepairs.inc({ object: 'chain', cause: 'removed' })
    one.appliedResourceVersion.set({ resource: 'services' }, 9_007_199_254_740_991)
    one.syncDuration.observe({ ip_family: 'IPv4' }, 0.003)
    const text = await one.text()
    expect(text).toContain('nodeproxy_drift_repairs_total{object="chain",cause="removed"} 1')
    expect(text).toContain(
      'nodeproxy_applied_resource_version{resource="services"} 9007199254740991',
    )
    expect(text).toContain(
      'nodeproxy_sync_proxy_rules_duration_seconds_bucket{le="0.004",ip_family="IPv4"} 1',
    )
    expect(await other.text()).not.toContain('cause="removed"')
  })

  it('shows the process, and does not poll the event loop', async () => {
    const text = await createMetrics().text()
    expect(text).toContain('process_resident_memory_bytes')
    expect(text).toMatch(/^process_open_fds \d+$/m)
    expect(text).toMatch(/^process_max_fds \d+$/m)
    expect(text).not.toContain('nodejs_eventloop_')
  })
})

describe('the table', () => {
  it('names every metric once, by the rules of Prometheus', () => {
    expect(new Set(NAMES).size).toBe(NAMES.length)
    for (const { name, type, labels, help } of Object.values(METRIC_TABLE)) {
      expect(name).toMatch(/^[a-z][a-z0-9_]*[a-z0-9]$/)
      expect([...labels].every((label) => /^[a-z_]+$/.test(label))).toBe(true)
      expect([name, help]).toEqual([name, expect.stringMatching(/^\S.*[.…]$/)])
      if (type === 'counter') expect(name).toMatch(/_total$/)
    }
  })
})

describe('docs/metrics.md', () => {
  it('is what the table says', async () => {
    await expect(metricsDocument()).toMatchFileSnapshot('../../../docs/metrics.md')
  })
})
