import { onTestFinished } from 'vitest'
import { anonymous } from '../../client/connection/credential/credential.ts'
import { createApiClient } from '../../client/http/api-client.ts'
import { silentReporter } from '../../client/testing/silent-reporter.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/random.ts'
import { type IdentityContents, knownControllers } from '../known-controllers.ts'
import { createObjectFollower } from '../runner/following/object-follower.ts'
import { alone } from '../runner/leadership.ts'
import { Runner } from '../runner/runner.ts'
import { createObjectWriter } from '../runner/writing/object-writer.ts'
import { createRecordingObserver } from './recording-observer.ts'

const NO_PROBLEM = /(?!)/

interface ControlPlaneOptions {
  readonly clock?: Clock
  /** Problems that the test does not fail for. */
  readonly expected?: RegExp
  readonly identity?: IdentityContents
}

/**
 * Every controller at work on an API server, until the test ends; it fails if one of them met a problem. Returns
 * the records of the recording observer.
 */
export function startControlPlane(
  url: string,
  { clock = systemClock, expected = NO_PROBLEM, identity }: ControlPlaneOptions = {},
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
    controllers: knownControllers(['192.0.2.1'], identity),
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
    const found = observer.records.filter((one) => one.startsWith('problem'))
    const problems = found.filter((one) => !expected.test(one))
    if (problems.length > 0) throw new Error(problems.join())
  })
  return observer.records
}
