import { onTestFinished } from 'vitest'
import { bearer, fixedCredential } from '../../client/connection/credential/credential.ts'
import { connectionBySocket } from '../../client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../../client/http/api-client.ts'
import { silentReporter } from '../../client/testing/silent-reporter.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/random.ts'
import { type IdentityContents, knownControllers, READER_ACCOUNT } from '../known-controllers.ts'
import { plainPools } from '../loadbalancer/testing/pools.ts'
import { createObjectFollower } from '../runner/object-follower.ts'
import { createObjectWriter, type ObjectWriter } from '../runner/object-writer.ts'
import { alone, Runner } from '../runner/runner.ts'
import { createRecordingObserver } from './recording-observer.ts'

const NO_PROBLEM = /(?!)/

interface ControlPlaneOptions {
  readonly clock?: Clock
  /** Problems that do not make the test fail. */
  readonly expected?: RegExp
  readonly identity?: IdentityContents
  /** Replaces the writer of an account. */
  readonly wrap?: (writer: ObjectWriter, account: string) => ObjectWriter
}

/** The names of the accounts of all controllers, each once, and of the account that reads for all of them. */
export const controlPlaneAccounts: readonly string[] = [
  ...new Set([READER_ACCOUNT, ...knownControllers().map(({ account }) => account)]),
]

/**
 * Runs every controller on an API server until the test ends; the test fails if a controller reports a problem. The token of an
 * account is its name, as in `startSecuredApi`. Returns the records of the recording observer.
 */
export function startControlPlane(
  socketPath: string,
  { clock = systemClock, expected = NO_PROBLEM, identity, wrap = same }: ControlPlaneOptions = {},
): readonly string[] {
  const clients = new Map<string, ApiClient>()
  const clientOf = (account: string): ApiClient =>
    clients.getOrInsertComputed(account, () => {
      const credentials = fixedCredential(bearer(account))
      const connection = connectionBySocket(socketPath, credentials)
      return createApiClient({ connection, clock: systemClock, userAgent: 'controllers/test' })
    })
  const observer = createRecordingObserver()
  const stop = new AbortController()
  const running = new Runner({
    controllers: knownControllers({ loadBalancer: plainPools('192.0.2.1') }, identity),
    follower: createObjectFollower({
      client: clientOf(READER_ACCOUNT),
      clock: systemClock,
      random: systemRandom,
      reporter: silentReporter,
    }),
    writerOf: (account) => wrap(createObjectWriter(clientOf(account)), account),
    clock,
    leadership: alone,
    observer,
  }).run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
    await Promise.all([...clients.values()].map((client) => client.close()))
    const found = observer.records.filter((one) => one.startsWith('problem'))
    const problems = found.filter((one) => !expected.test(one))
    if (problems.length > 0) throw new Error(problems.join())
  })
  return observer.records
}

function same(writer: ObjectWriter): ObjectWriter {
  return writer
}
