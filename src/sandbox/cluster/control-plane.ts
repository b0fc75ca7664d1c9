import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MASTERS } from '../../auth/user.ts'
import { bearer, fixedCredential } from '../../client/connection/credential/credential.ts'
import { connectionBySocket } from '../../client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../../client/http/api-client.ts'
import { failureError } from '../../client/http/failure.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Namespace } from '../network/namespace.ts'
import { Program } from '../network/program.ts'
import {
  BRIDGE,
  DNS_IP,
  LAN,
  LOAD_BALANCER_POOL,
  NODE_IP,
  NODE_NAME,
  POD_NETWORK,
  SERVICE_NETWORK,
} from '../network/topology.ts'
import { namespaceOf, type Run } from '../run/run.ts'

const LAUNCHER = new URL('../../../bin/orch-server', import.meta.url).pathname

/** orch-server on the node, which also runs the node's pods. */
export interface ControlPlane {
  /** A kubeconfig of the account of node-proxy, with the permissions of its role. */
  readonly kubeconfig: string
  /** A kubeconfig of the administrator, for orchctl in the namespace of the node. */
  readonly adminKubeconfig: string
  /** A file with the administrator's authorization header for curl; only root can read it. */
  readonly authorization: string
  /** The Unix socket by which every namespace reaches the API. */
  readonly socket: string
  readonly api: ApiClient
  /** The last lines that orch-server wrote, oldest first. */
  lastLines(count: number): readonly string[]
}

/**
 * Starts orch-server and waits until it is ready. When `stack` is disposed, orch-server is stopped.
 * @throws NP_SANDBOX_SERVER if orch-server ends before it is ready
 */
export async function startControlPlane(
  run: Run,
  node: Namespace,
  stack: AsyncDisposableStack,
): Promise<ControlPlane> {
  const dataDir = join(run.folder, 'orch-server')
  const administrator = writeAdministrator(run.folder)
  const ready = Promise.withResolvers<void>()
  const program = new Program({
    command: node.inside([LAUNCHER, ...flags(run, dataDir, administrator.tokenFile)]),
    logFile: join(run.folder, 'orch-server.log'),
    onLine: (line) => line.includes('"orch-server is ready"') && ready.resolve(),
  })
  stack.defer(() => program.stop('SIGTERM'))
  void program.ended.then((how) => ready.reject(endedEarly(how, program.lastLines(15))))
  await ready.promise
  const socket = join(dataDir, 'server.sock')
  const api = createApiClient({
    connection: connectionBySocket(socket, fixedCredential(bearer(administrator.token))),
    clock: systemClock,
    userAgent: 'node-proxy-sandbox',
  })
  stack.defer(() => api.close())
  return {
    socket,
    api,
    adminKubeconfig: join(dataDir, 'admin.kubeconfig'),
    authorization: administrator.header,
    kubeconfig: await daemonKubeconfig({ run, node, dataDir, api }),
    lastLines: (count) => program.lastLines(count),
  }
}

function flags(run: Run, dataDir: string, tokenFile: string): readonly string[] {
  return [
    `--data-dir=${dataDir}`,
    `--bind-address=${NODE_IP}`,
    `--token-auth-file=${tokenFile}`,
    `--service-cluster-ip-range=${SERVICE_NETWORK}`,
    `--load-balancer-pool=${LOAD_BALANCER_POOL}`,
    `--dns-address=${NODE_IP}`,
    `--dns-client-networks=${POD_NETWORK},${LAN}`,
    `--cluster-dns=${DNS_IP}`,
    '--sandbox-node',
    `--node-name=${NODE_NAME}`,
    `--node-ip=${NODE_IP}`,
    `--pod-cidr=${POD_NETWORK}`,
    `--pod-bridge=${BRIDGE}`,
    `--pod-namespace-prefix=${namespaceOf(run.name, 'pod')}`,
  ]
}

/** NP_SANDBOX_SERVER. `how`: the exit status or signal, as `Program.ended` has it. */
function endedEarly(how: string, lines: readonly string[]): NodeProxyError {
  const output = lines.map((line) => `    ${line}`)
  return new NodeProxyError(
    'NP_SANDBOX_SERVER',
    [`orch-server ended: ${how}`, ...output].join('\n'),
  )
}

/**
 * The user that creates and watches the objects of the cluster. It connects by the Unix socket, where there are no
 * client certificates, and therefore has a token.
 */
interface Administrator {
  readonly token: string
  /** The path of the file for `--token-auth-file` of orch-server. */
  readonly tokenFile: string
  /** The path of the file with the `Authorization` header, for `curl -H @FILE`. */
  readonly header: string
}

/** Makes an administrator for one run. Only the user of this process can read its files. */
function writeAdministrator(folder: string): Administrator {
  const token = randomBytes(32).toString('base64url')
  const [tokenFile, header] = [join(folder, 'administrator.csv'), join(folder, 'administrator')]
  writeFileSync(tokenFile, `${token},sandbox,,${MASTERS}\n`, { mode: 0o600 })
  writeFileSync(header, `Authorization: Bearer ${token}\n`, { mode: 0o600 })
  return { token, tokenFile, header }
}

const RBAC = 'rbac.authorization.k8s.io'
const ACCOUNT = { namespace: 'kube-system', name: 'node-proxy' }

/** The parameters of `daemonKubeconfig`. */
interface DaemonAccess {
  readonly run: Run
  readonly node: Namespace
  readonly dataDir: string
  /** The client of an administrator. */
  readonly api: ApiClient
}

/**
 * Creates the ServiceAccount of node-proxy, binds it to its role, and writes a kubeconfig for it.
 * @returns the path of the kubeconfig
 */
async function daemonKubeconfig({ run, node, dataDir, api }: DaemonAccess): Promise<string> {
  const { namespace, name } = ACCOUNT
  await create(api, `/api/v1/namespaces/${namespace}/serviceaccounts`, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name },
  })
  await create(api, `/apis/${RBAC}/v1/clusterrolebindings`, {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'system:node-proxier' },
    subjects: [{ kind: 'ServiceAccount', ...ACCOUNT }],
  })
  const path = join(run.folder, 'node-proxy.kubeconfig')
  await node.exec([
    LAUNCHER,
    'kubeconfig',
    `--service-account=${namespace}/${name}`,
    `--data-dir=${dataDir}`,
    `--output=${path}`,
  ])
  return path
}

async function create(api: ApiClient, path: string, object: object): Promise<void> {
  const created = await api.create(path, object)
  if (!created.ok) throw failureError(created.failure, path)
}
