import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { hostPort } from '../../lib/ip.ts'
import type { Connection } from './connection.ts'
import { anonymous, type CredentialSource } from './credential/credential.ts'
import { tokenFileCredential } from './credential/token-file.ts'
import { loadKubeconfig } from './kubeconfig.ts'
import { fileSource } from './pem-source.ts'
import { parseServerUrl } from './server-url.ts'

export interface LoadConnectionOptions {
  /** `--kubeconfig`; empty or undefined if not given. */
  readonly kubeconfig: string | undefined
  /** `--master`; empty or undefined if not given. */
  readonly master: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
}

/**
 * The connection of the kubeconfig (with `master` as its server), else an
 * anonymous one to `master`, else that of this Pod's service account.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_SERVER_URL, NP_CLIENT_CREDENTIAL, NP_CLIENT_NOT_IN_CLUSTER
 */
export async function loadConnection(options: LoadConnectionOptions): Promise<Connection> {
  const { kubeconfig, env, clock } = options
  const master = options.master === '' ? undefined : options.master
  if (kubeconfig) return loadKubeconfig({ path: kubeconfig, master, clock })
  return master === undefined ? loadInCluster({ env, clock }) : connectionTo(master)
}

/** A connection through a Unix socket, without TLS; anonymous if no credentials are given. */
export function connectionBySocket(
  socketPath: string,
  credentials: CredentialSource = anonymous,
): Connection {
  return {
    origin: 'http://localhost',
    basePath: '',
    socketPath,
    source: socketPath,
    tls: undefined,
    credentials,
  }
}

/** An anonymous connection; for an https URL it trusts the machine's authorities. @throws NP_CLIENT_SERVER_URL */
export function connectionTo(server: string): Connection {
  const url = parseServerUrl(server, '--master')
  const material = { ca: undefined, cert: undefined, key: undefined }
  const tls = {
    material: () => Promise.resolve(material),
    serverName: undefined,
    insecureSkipVerify: false,
  }
  return {
    origin: url.origin,
    basePath: url.basePath,
    tls: url.secure ? tls : undefined,
    credentials: anonymous,
    source: '--master',
  }
}

export interface InClusterOptions {
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** The directory that contains `var/run`; `/` except in tests. */
  readonly root?: string
}

const FAMILIES = [
  { host: 'ORCH_SERVICE_HOST', port: 'ORCH_SERVICE_PORT' },
  { host: 'KUBERNETES_SERVICE_HOST', port: 'KUBERNETES_SERVICE_PORT' },
] as const

const FOLDERS = [
  'var/run/secrets/orch.io/serviceaccount',
  'var/run/secrets/kubernetes.io/serviceaccount',
] as const

/**
 * The connection of a Pod, from the files of its service account and its environment, with the names of Kubernetes or
 * those of orch.
 * @throws NP_CLIENT_NOT_IN_CLUSTER, NP_CLIENT_SERVER_URL
 */
export async function loadInCluster(options: InClusterOptions): Promise<Connection> {
  const { env, clock, root = '/' } = options
  const family = FAMILIES.find(({ host }) => (env[host] ?? '') !== '')
  const folder = await firstWithToken(FOLDERS.map((path) => join(root, path)))
  if (family === undefined || folder === undefined) {
    const missing = family === undefined ? 'KUBERNETES_SERVICE_HOST is not set' : 'no token file'
    throw new NodeProxyError('NP_CLIENT_NOT_IN_CLUSTER', `not in a cluster: ${missing}`, {
      hint: 'give --kubeconfig or --master, or run as a Pod with a service account',
    })
  }
  const host = env[family.host] ?? ''
  const port = env[family.port] || '443'
  const url = parseServerUrl(`https://${hostPort(host, port)}`, family.host)
  const ca = fileSource(join(folder, 'ca.crt'))
  return {
    origin: url.origin,
    basePath: '',
    tls: {
      material: async () => ({ ca: await ca(), cert: undefined, key: undefined }),
      serverName: undefined,
      insecureSkipVerify: false,
    },
    credentials: tokenFileCredential(join(folder, 'token'), clock),
    source: `service account ${JSON.stringify(folder)}`,
  }
}

async function firstWithToken(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const token = await stat(join(folder, 'token')).catch(() => undefined)
    if (token !== undefined) return folder
  }
  return undefined
}
