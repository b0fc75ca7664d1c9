import { expect, test, vi } from 'vitest'
import type { ApiClient } from '../client/http/api-client.ts'
import { endpointsController } from '../controllers/endpoints/endpoints-controller.ts'
import { createRunnerMetrics } from '../controllers/runner/observer.ts'
import { NodeProxyError } from '../lib/error.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { runControllers } from './run-controllers.ts'

test('controllers that ended because of a bug leave the leadership to another server', async () => {
  const resigned = Promise.withResolvers<void>()
  const lost = new AbortController().signal
  const resign = async (): Promise<void> => resigned.resolve()
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const running = runControllers({
    controllers: [endpointsController],
    clientOf: () => ({}) as ApiClient,
    election: { campaign: async () => ({ term: 1, lost, resign }) },
    metrics: createRunnerMetrics(),
    clock: new FakeClock(),
    log,
  })
  await resigned.promise
  expect(log.error).toHaveBeenCalledOnce()
  await running.close()
})

test('an election that fails every second is one record, and a count each minute', async () => {
  const clock = new FakeClock()
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const away = new NodeProxyError('NP_STORAGE_ETCD_UNREACHABLE', 'no etcd server answers')
  const running = runControllers({
    controllers: [],
    clientOf: () => ({}) as ApiClient,
    election: { campaign: () => Promise.reject(away) },
    metrics: createRunnerMetrics(),
    clock,
    log,
  })
  for (let second = 0; second <= 60; second++) await clock.advance(1000)
  expect(log.warn.mock.calls.map(([fields]) => fields)).toEqual([
    { err: away },
    { failure: 'NP_STORAGE_ETCD_UNREACHABLE', times: 59 },
    { err: away },
  ])
  await running.close()
})
