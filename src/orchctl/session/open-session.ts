import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Connection } from '../../client/connection/connection.ts'
import { bearer, fixedCredential } from '../../client/connection/credential/credential.ts'
import { checkToken } from '../../client/connection/credential/token-file.ts'
import { kubeconfigConnection } from '../../client/connection/kubeconfig.ts'
import { loadInCluster } from '../../client/connection/load-connection.ts'
import { noObserver } from '../../client/http/client-observer.ts'
import { createTransport } from '../../client/http/transport.ts'
import { systemClock } from '../../lib/clock.ts'
import { parseDuration } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { hashName } from '../../lib/hash.ts'
import { arrayAt, type JsonObject, stringAt, without } from '../../lib/json.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/exit-code.ts'
import type { GlobalFlags } from '../usage/global-flags.ts'
import { type Api, createApi } from './api.ts'
import { entryNames, entryOf, type ListName, merged, readKubeconfigFiles } from './kubeconfig.ts'

/** The connection of the program: which server, as whom, and in which namespace. */
export interface Session {
  readonly api: Api
  /** The connection for streams that are not HTTP requests; they need the headers of `impersonation`. */
  readonly connection: Connection
  /** `--namespace`, else that of the context or of the Pod, else `default`. */
  readonly namespace: string
  /** Whether `--namespace` was given. */
  readonly isNamespaceGiven: boolean
  readonly impersonation: Impersonation | undefined
  /** A key of the server for caches on disk. */
  readonly serverKey: string
  close(): Promise<void>
}

const CREDENTIALS = ['token', 'tokenFile', 'exec', 'username', 'password']
const CERTIFICATES = [
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
]

const NAMESPACE_FILES = ['orch.io', 'kubernetes.io'].map(
  (brand) => `/var/run/secrets/${brand}/serviceaccount/namespace`,
)

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
      transport,
      server,
      timeoutMs,
      verbosity,
      notice,
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

type Environment = Readonly<Record<string, string | undefined>>

/** Where requests go, as whom, and the namespace of the context. */
interface Target {
  readonly connection: Connection
  /** Undefined: the context has none. */
  readonly namespace: string | undefined
  readonly impersonation: Impersonation | undefined
}

/**
 * The target of the kubeconfig, with the flags that replace parts of it. Without a kubeconfig: the target of the flags,
 * or else that of the Pod in which the program runs.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_SERVER_URL, NP_CLIENT_CREDENTIAL, NP_ORCHCTL_NO_SERVER
 */
async function targetOf(flags: GlobalFlags, env: Environment): Promise<Target> {
  const files = await readKubeconfigFiles({ flag: flags.kubeconfig, env })
  const config = merged(files)
  const first = files[0]?.path
  if (first === undefined && flags.server === undefined) return inCluster(flags, env)
  const context = contextOf(config, flags)
  const user = entry(config, 'users', stringAt(context, 'user'))
  const cluster = entry(config, 'clusters', stringAt(context, 'cluster'))
  const value = {
    'current-context': 'chosen',
    contexts: [{ name: 'chosen', context: { cluster: 'chosen', user: 'chosen' } }],
    clusters: [{ name: 'chosen', cluster: chosenCluster(cluster, flags) }],
    users: [{ name: 'chosen', user: chosenUser(user, flags) }],
  }
  const path = first ?? '--server'
  const connection = await kubeconfigConnection(value, {
    path,
    clock: systemClock,
    master: undefined,
  })
  return {
    connection,
    namespace: stringAt(context, 'namespace') || undefined,
    impersonation: impersonationOf(flags, user),
  }
}

function contextOf(config: JsonObject, flags: GlobalFlags): JsonObject {
  const name = flags.context ?? stringAt(config, 'current-context')
  return name === '' ? {} : entry(config, 'contexts', name)
}

/** @throws NP_ORCHCTL_KUBECONFIG when no file has an entry of this name */
function entry(config: JsonObject, list: ListName, name: string): JsonObject {
  if (name === '') return {}
  const found = entryOf(config, list, name)
  if (found !== undefined) return found
  const names = entryNames(config, list)
  const meant = nearest(name, names)
  const known = names.map(quote).join(', ') || 'none'
  throw new NodeProxyError(
    'NP_ORCHCTL_KUBECONFIG',
    `the kubeconfig has no ${list.slice(0, -1)} ${quote(name)}`,
    { hint: meant === undefined ? `it has: ${known}` : `did you mean ${quote(meant)}?` },
  )
}

function chosenCluster(cluster: JsonObject, flags: GlobalFlags): JsonObject {
  const { server, certificateAuthority: authority, insecureSkipTlsVerify: insecure } = flags
  const authorities = ['certificate-authority', 'certificate-authority-data']
  const base =
    authority !== undefined || insecure === true ? without(cluster, ...authorities) : cluster
  const address = server ?? stringAt(cluster, 'server')
  if (address === '') throw noServer('the kubeconfig has no server for this context')
  return {
    ...base,
    server: address,
    ...(authority === undefined ? {} : { 'certificate-authority': resolve(authority) }),
    ...(insecure === true ? { 'insecure-skip-tls-verify': true } : {}),
  }
}

/** Impersonation is done by headers; a token of the flags replaces every other credential. */
function chosenUser(user: JsonObject, { token }: GlobalFlags): JsonObject {
  const base = without(user, 'as', 'as-uid', 'as-groups')
  return token === undefined ? base : without(base, ...CREDENTIALS, ...CERTIFICATES)
}

async function inCluster(flags: GlobalFlags, env: Environment): Promise<Target> {
  const connection = await loadInCluster({ env, clock: systemClock }).catch((error: unknown) => {
    if (!(error instanceof NodeProxyError) || error.code !== 'NP_CLIENT_NOT_IN_CLUSTER') throw error
    throw noServer(
      'no API server is known: there is no kubeconfig, and this is no Pod of a cluster',
    )
  })
  const texts = await Promise.all(
    NAMESPACE_FILES.map((path) => readFile(path, 'utf8').catch(() => '')),
  )
  const namespace = texts.map((text) => text.trim()).find((text) => text !== '')
  return { connection, namespace, impersonation: impersonationOf(flags, undefined) }
}

function noServer(message: string): NodeProxyError {
  return new NodeProxyError('NP_ORCHCTL_NO_SERVER', message, {
    hint: 'set KUBECONFIG or --kubeconfig to the kubeconfig that orch-server wrote, or give --server',
  })
}

/** Another user as whom requests are made. */
interface Impersonation {
  readonly user: string
  readonly groups: readonly string[]
  readonly uid: string
}

/** The impersonation of the flags, else that of the user entry of the kubeconfig. */
function impersonationOf(
  { as, asGroup, asUid }: GlobalFlags,
  user: JsonObject | undefined,
): Impersonation | undefined {
  const groups = arrayAt(user, 'as-groups').filter((group) => typeof group === 'string')
  const impersonation = {
    user: as ?? stringAt(user, 'as'),
    groups: asGroup ?? groups,
    uid: asUid ?? stringAt(user, 'as-uid'),
  }
  const isNone = impersonation.user === '' && groups.length === 0 && asGroup === undefined
  return isNone && impersonation.uid === '' ? undefined : impersonation
}

/** The headers of each request. */
export function impersonationHeaders(
  impersonation: Impersonation | undefined,
): Readonly<Record<string, string | readonly string[]>> {
  if (impersonation === undefined) return {}
  const { user, groups, uid } = impersonation
  return {
    ...(user === '' ? {} : { 'impersonate-user': user }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': groups }),
    ...(uid === '' ? {} : { 'impersonate-uid': uid }),
  }
}
