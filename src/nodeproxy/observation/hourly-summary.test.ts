import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { recordingLog } from '../testing/wiring.ts'
import { summariseHourly } from '../wiring/node-proxy.ts'

test('each hour has one line, with what was done in it', async () => {
  const clock = new FakeClock()
  const metrics = createMetrics()
  const { log, lines } = recordingLog()
  const stop = summariseHourly({ clock, log, metrics, now: () => ({ mode: 'ipvs' }) })
  metrics.endpointChanges.inc(30)
  metrics.driftRepairs.inc({ object: 'chain', cause: 'removed' })
  await clock.advance(3_600_000)
  metrics.serviceChanges.inc()
  metrics.apiFailures.inc({ resource: 'services', reason: 'refused' }, 2)
  await clock.advance(3_600_000)
  const failures = (repairs: number, requests: number) =>
    `0 refusals of the kernel, ${repairs} repairs, ${requests} failed requests to the API server`
  expect(lines).toEqual([
    `info in the last hour: 30 changes of endpoints and 0 of Services; ${failures(1, 0)} {"mode":"ipvs"}`,
    `info in the last hour: 0 changes of endpoints and 1 of Services; ${failures(0, 2)} {"mode":"ipvs"}`,
  ])
  stop()
  await clock.advance(3_600_000)
  expect(lines).toHaveLength(2)
})
