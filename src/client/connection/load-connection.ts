import type { Clock } from '../../lib/clock.ts'
import type { Connection } from './connection.ts'
import { anonymous, type CredentialSource } from './credential/credential.ts'
import { loadInCluster } from './in-cluster.ts'
import { loadKubeconfig } from './kubeconfig.ts'
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
