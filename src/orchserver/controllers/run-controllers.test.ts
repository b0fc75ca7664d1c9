import { expect, test, vi } from 'vitest'
import type { ApiClient } from '../../client/http/api-client.ts'
import { endpointsController } from '../../controllers/endpoints/endpoints-controller.ts'
import { createRunnerMetrics } from '../../controllers/metrics/runner-metrics.ts'
import { FakeClock } from '../../lib/fake-clock.ts'
import { runControllers } from './run-controllers.ts'

test('controllers that ended for a bug make room for those of another server', async () => {
  const resigned = Promise.withResolvers<void>()
  const lost = new AbortController().signal
  const resign = async (): Promise<void> => resigned.resolve()
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const running = runControllers({
    controllers: [endpointsController],
    client: {} as ApiClient,
    election: { campaign: async () => ({ term: 1, lost, resign }) },
    metrics: createRunnerMetrics(),
    clock: new FakeClock(),
    log,
  })
  await resigned.promise
  expect(log.error).toHaveBeenCalledOnce()
  await running.close()
})
