import type { Clock } from '../../lib/clock.ts'
import type { Connection } from './connection.ts'
import { anonymous } from './credential.ts'
import { loadInCluster } from './in-cluster.ts'
import { loadKubeconfig } from './kubeconfig.ts'
import { parseServerUrl } from './server-url.ts'

export interface LoadConnectionOptions {
  /** `--kubeconfig`; empty or undefined: none. */
  readonly kubeconfig: string | undefined
  /** `--master`; empty or undefined: none. */
  readonly master: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
}

/**
 * Where the API server is: the kubeconfig (its server replaced by `master`),
 * else `master` alone and anonymously, else the service account of this Pod.
 */
export async function loadConnection(options: LoadConnectionOptions): Promise<Connection> {
  const { kubeconfig, env, clock } = options
  const master = options.master === '' ? undefined : options.master
  if (kubeconfig) return loadKubeconfig({ path: kubeconfig, master, clock })
  return master === undefined ? loadInCluster({ env, clock }) : connectionTo(master)
}

/** An anonymous connection through a Unix socket, without TLS. */
export function connectionBySocket(socketPath: string): Connection {
  return {
    ...{ origin: 'http://localhost', basePath: '', socketPath, source: socketPath },
    tls: undefined,
    credentials: anonymous,
  }
}

/** An anonymous connection; TLS with the machine's authorities when the URL says https. */
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
