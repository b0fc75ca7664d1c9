import { onTestFinished } from 'vitest'
import { anonymous } from '../../client/connection/credential.ts'
import { createApiClient } from '../../client/http/api-client.ts'
import { silentReporter } from '../../client/testing/silent-reporter.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/random.ts'
import { knownControllers } from '../known-controllers.ts'
import { createObjectFollower } from '../runner/following/object-follower.ts'
import { alone } from '../runner/leadership.ts'
import { Runner } from '../runner/runner.ts'
import { createObjectWriter } from '../runner/writing/object-writer.ts'
import { createRecordingObserver } from './recording-observer.ts'

const NO_PROBLEM = /(?!)/

/**
 * Every controller at work on an API server, until the test ends; it fails if
 * one of them met a problem. What they do is told in the words of the
 * recording observer; `clock` is that of the controllers. Problems that are `expected` are none.
 */
export function startControlPlane(
  url: string,
  clock: Clock = systemClock,
  expected: RegExp = NO_PROBLEM,
): readonly string[] {
  const connection = {
    origin: url,
    basePath: '',
    tls: undefined,
    credentials: anonymous,
    source: 'test',
  }
  const createClient = () =>
    createApiClient({ connection, clock: systemClock, userAgent: 'controllers/test' })
  const [watching, writing] = [createClient(), createClient()]
  const observer = createRecordingObserver()
  const stop = new AbortController()
  const running = new Runner({
    controllers: knownControllers(['192.0.2.1']),
    follower: createObjectFollower({
      ...{ client: watching, clock: systemClock, random: systemRandom },
      reporter: silentReporter,
    }),
    writer: createObjectWriter(writing),
    clock,
    leadership: alone,
    observer,
  }).run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
    await Promise.all([watching.close(), writing.close()])
    const told = observer.told.filter((one) => one.startsWith('problem'))
    const problems = told.filter((one) => !expected.test(one))
    if (problems.length > 0) throw new Error(problems.join())
  })
  return observer.told
}
