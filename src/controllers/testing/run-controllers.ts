import { onTestFinished } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Controller } from '../runner/controller.ts'
import { alone, type Leadership, Runner } from '../runner/runner.ts'
import type { FakeCluster } from './fake-cluster.ts'
import { createRecordingObserver } from './recording-observer.ts'

interface Scene {
  readonly clock?: FakeClock
  readonly leadership?: Leadership
}

/** Runs controllers on a cluster until the test ends; returns when they have listed everything. */
export async function runControllers(
  { follower, writer }: FakeCluster,
  controllers: readonly Controller[],
  { clock = new FakeClock(), leadership = alone }: Scene = {},
): Promise<FakeClock> {
  const stop = new AbortController()
  const observer = createRecordingObserver()
  const writerOf = () => writer
  const parts = { controllers, follower, writerOf, clock, leadership, observer }
  const running = new Runner(parts).run(stop.signal)
  onTestFinished(() => {
    stop.abort()
    return running
  })
  await clock.advance(0)
  return clock
}
