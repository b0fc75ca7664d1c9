import { beforeEach, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { BACKENDS, OBSERVATIONS, SCHEDULERS } from '../support/ipvs/behaviour.ts'
import { daemonStage, scheduledBy, weightedService } from '../support/ipvs/daemon-stage.ts'
import { virtualServer } from '../support/ipvs/table.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'
import { undisturbed } from '../support/lab/undisturbed.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * Each scheduler is recognised by what real connections meet. That the observations
 * distinguish the six is proved in `schedulers-by-hand`.
 */
const lab = useLab()
beforeEach(() => lab().reset())

const VIP = '172.30.40.1'
const EVEN = Object.fromEntries(BACKENDS.map((name) => [name, 1]))

/** ovf takes a weight for the number of connections that a backend may have. */
const ROOMY = Object.fromEntries(BACKENDS.map((name) => [name, 100]))

/** First packets wait while the kernel exchanges a scheduler. */
const EXCHANGED = { destination: VIP, mayRepeat: true } as const

const schedulerNow = async () => (await virtualServer(lab().node, `TCP ${VIP}:80`))?.scheduler

test.each(SCHEDULERS)('%s, by annotation', async (scheduler) => {
  const stage = await daemonStage(lab(), `172.30.40.${2 + SCHEDULERS.indexOf(scheduler)}`, {
    ...scheduledBy(scheduler),
  })
  try {
    expect(await OBSERVATIONS[scheduler](stage)).toEqual([])
  } finally {
    await stage.release()
  }
})

test('rr when no Service and no configuration names a scheduler', async () => {
  const stage = await daemonStage(lab(), '172.30.40.10')
  expect(await OBSERVATIONS.rr(stage)).toEqual([])
  await stage.release()
})

test('the scheduler of the configuration is for Services that name none; it can change live', async () => {
  await reconfigure(lab(), { ipvs: { scheduler: 'lc' } })
  try {
    const stage = await daemonStage(lab(), '172.30.40.11')
    expect(await OBSERVATIONS.lc(stage)).toEqual([])
    await stage.release()
    await lab().reset()
    const named = await daemonStage(lab(), '172.30.40.12', scheduledBy('wrr'))
    expect(await OBSERVATIONS.wrr(named)).toEqual([])
    await named.release()
  } finally {
    await reconfigure(lab(), {})
  }
})

test('another annotation takes effect while connections are made and kept', async () => {
  await deploy(lab(), weightedService(VIP, EVEN, {}))
  const stage = await daemonStage(lab(), VIP, scheduledBy('sh'))
  expect(await schedulerNow()).toBe('rr')
  await undisturbed(lab(), EXCHANGED, () =>
    deploy(lab(), weightedService(VIP, EVEN, scheduledBy('sh'))),
  )
  expect(await schedulerNow()).toBe('sh')
  expect(await OBSERVATIONS.sh(stage)).toEqual([])
})

test('another configured scheduler takes effect while connections are made and kept', async () => {
  await deploy(lab(), weightedService(VIP, EVEN, {}))
  await undisturbed(lab(), EXCHANGED, async () => {
    await reconfigure(lab(), { ipvs: { scheduler: 'wlc' } })
    await expect.poll(schedulerNow).toBe('wlc')
  })
  await undisturbed(lab(), EXCHANGED, async () => {
    await reconfigure(lab(), {})
    await expect.poll(schedulerNow).toBe('rr')
  })
})

test.each(['sed', 'nq', 'lblc', 'lblcr', 'mh', 'ovf', 'fo'])(
  '%s, which the kernel has too, is accepted and serves',
  async (scheduler) => {
    await deploy(lab(), weightedService(VIP, ROOMY, scheduledBy(scheduler)))
    expect(await schedulerNow()).toBe(scheduler)
    const outcomes = await lab().connect('pod', {
      source: '10.0.0.2',
      destination: VIP,
      port: 80,
      attempts: 10,
    })
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['answered']))
  },
)

test('a scheduler that the kernel does not have: served by the default, and said so', async () => {
  await deploy(lab(), weightedService(VIP, EVEN, scheduledBy('nosuch')))
  expect(await schedulerNow()).toBe('rr')
  const metrics = await lab().daemon.metrics()
  expect(metrics.get('nodeproxy_apply_failures_total{code="NP_IPVS_SCHEDULER"}')).toBeGreaterThan(0)
  expect(lab().daemon.logs()).toContain('nosuch')
})
