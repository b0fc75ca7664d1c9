import type { Connection } from '../../client/connection/connection.ts'
import { bearer, fixedCredential } from '../../client/connection/credential/credential.ts'
import { checkToken } from '../../client/connection/credential/token-file.ts'
import { noObserver } from '../../client/http/client-observer.ts'
import { createTransport } from '../../client/http/transport.ts'
import { systemClock } from '../../lib/clock.ts'
import { parseDuration } from '../../lib/duration.ts'
import { hashName } from '../../lib/hash.ts'
import { quote } from '../../lib/quote.ts'
import type { GlobalFlags } from '../usage/global-flags.ts'
import { usageError } from '../usage/usage-error.ts'
import { createApi } from './api.ts'
import { impersonationHeaders } from './impersonation.ts'
import type { Session } from './session.ts'
import { targetOf } from './target.ts'

export interface SessionOptions {
  readonly flags: GlobalFlags
  readonly env: Readonly<Record<string, string | undefined>>
  readonly version: string
  /** Writes a line for the user: warnings of the server, and requests where `-v` shows them. */
  readonly notice: (line: string) => void
}

const DEFAULT_TIMEOUT_MS = 30_000
/** `--request-timeout=0`: as long as a timer can be. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** The session that the flags, the kubeconfig and the environment describe. No request is made yet. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { flags, env, version, notice } = options
  const timeoutMs = timeoutOf(flags.requestTimeout)
  const verbosity = verbosityOf(flags.v)
  const { connection, namespace, impersonation } = await targetOf(flags, env)
  const authenticated = withToken(connection, flags, notice)
  const transport = createTransport({
    connection: authenticated,
    userAgent: `orchctl/${version}`,
    clock: systemClock,
    observer: noObserver,
  })
  const server = connection.origin + connection.basePath
  return {
    api: createApi({
      ...{ transport, server, timeoutMs, verbosity, notice },
      clock: systemClock,
      headers: impersonationHeaders(impersonation),
    }),
    connection: authenticated,
    namespace: flags.namespace ?? namespace ?? 'default',
    isNamespaceGiven: flags.namespace !== undefined,
    impersonation,
    serverKey: hashName(server, 19),
    close: () => transport.close(),
  }
}

/** The connection with the token of the flags, if there is one. */
function withToken(
  connection: Connection,
  { token }: GlobalFlags,
  notice: (line: string) => void,
): Connection {
  if (token === undefined) return connection
  if (connection.tls === undefined) {
    notice(`orchctl: warning: --token is not sent to ${connection.origin}, which has no TLS`)
  }
  return { ...connection, credentials: fixedCredential(bearer(checkToken(token, '--token'))) }
}

function timeoutOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_TIMEOUT_MS
  const ms = /^[0-9]+$/.test(text) ? Number(text) * 1_000 : parseDuration(text)
  if (ms === undefined || ms > NO_TIMEOUT_MS) {
    throw usageError(`--request-timeout ${quote(text)} is no duration`, 'write 10s, 1m or 0')
  }
  return ms === 0 ? NO_TIMEOUT_MS : ms
}

function verbosityOf(text: string | undefined): number {
  if (text === undefined) return 0
  if (/^[0-9]{1,2}$/.test(text)) return Number(text)
  throw usageError(`-v ${quote(text)} is no level`, 'write a number such as 6')
}
