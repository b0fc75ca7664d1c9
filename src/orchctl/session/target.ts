import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Connection } from '../../client/connection/connection.ts'
import { loadInCluster } from '../../client/connection/in-cluster.ts'
import { kubeconfigConnection } from '../../client/connection/kubeconfig.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, stringAt, without } from '../../lib/json.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import { readKubeconfigFiles } from '../kubeconfig/kubeconfig-files.ts'
import { entryNames, entryOf, type ListName, merged } from '../kubeconfig/merged.ts'
import type { GlobalFlags } from '../usage/global-flags.ts'
import { type Impersonation, impersonationOf } from './impersonation.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where requests go, as whom, and the namespace of the context. */
export interface Target {
  readonly connection: Connection
  /** Undefined: the context has none. */
  readonly namespace: string | undefined
  readonly impersonation: Impersonation | undefined
}

/**
 * The target of the kubeconfig and the flags that replace parts of it; without a kubeconfig, that of the flags
 * alone, else of the Pod in which the program runs.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_SERVER_URL, NP_CLIENT_CREDENTIAL, NP_ORCHCTL_NO_SERVER
 */
export async function targetOf(flags: GlobalFlags, env: Environment): Promise<Target> {
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
    ...{ path, clock: systemClock, master: undefined },
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

/** @throws NP_ORCHCTL_KUBECONFIG when a name is given that no file has */
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

const CREDENTIALS = ['token', 'tokenFile', 'exec', 'username', 'password']
const CERTIFICATES = [
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
]

/** Impersonation is done by headers; a token of the flags replaces every other credential. */
function chosenUser(user: JsonObject, { token }: GlobalFlags): JsonObject {
  const base = without(user, 'as', 'as-uid', 'as-groups')
  return token === undefined ? base : without(base, ...CREDENTIALS, ...CERTIFICATES)
}

const NAMESPACE_FILES = ['orch.io', 'kubernetes.io'].map(
  (brand) => `/var/run/secrets/${brand}/serviceaccount/namespace`,
)

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
