import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bearer, fixedCredential } from '../../../../src/client/connection/credential/credential.ts'
import { connectionBySocket } from '../../../../src/client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../../../../src/client/http/api-client.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../../src/lib/json.ts'
import { addNamespace, type Namespace } from '../../../support/lab/namespace.ts'
import { type LabProcess, startProcess } from '../../../support/lab/process.ts'
import { launcherOf } from '../../../support/programs.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const NODE_IP = '192.0.2.10'
const POD_NETWORK = '10.77.0.0/24'
const SCRIPT = new URL('./in-pod.script.ts', import.meta.url).pathname

/** One machine: orch-server that runs Pods, and node-proxy with its account. All of it real. */
export interface PodCluster {
  /** Of an administrator. */
  readonly api: ApiClient
  /** Creates an object; fails unless it is created. */
  make(path: string, object: JsonObject): Promise<JsonObject>
  /** Runs a Pod in a namespace, and resolves when it is ready, to its address. */
  runPod(namespace: string, name: string, spec?: JsonObject, labels?: JsonObject): Promise<string>
  /** The network namespace of the machine. */
  readonly node: Namespace
  /** The kubeconfig of its administrator. */
  readonly kubeconfig: string
  readonly dataDir: string
  /** Of node-proxy, for its own commands. */
  readonly inspectionSocket: string
  /** What the process of a Pod at an address returns. */
  fromPod(address: string, path: string): Promise<JsonObject>
  close(): Promise<void>
}

/** The address of the machine. */
export const NODE_ADDRESS = NODE_IP

/** What tests vary of node-proxy. */
export interface DaemonChoice {
  /** Further flags. */
  readonly flags?: readonly string[]
  /** Whether other machines may read it, over HTTPS. */
  readonly isRead?: boolean
}

/** Starts it in a network namespace of its own; `flags` are further ones of orch-server. */
export async function startPodCluster(
  flags: readonly string[] = [],
  choice: DaemonChoice = {},
): Promise<PodCluster> {
  const run = `np-ident-${process.pid}`
  const folder = mkdtempSync(join(tmpdir(), `${run}-`))
  const node = await addNamespace(`${run}-node`)
  await node.ip([
    'link add uplink type bridge',
    `addr add ${NODE_IP}/24 dev uplink`,
    'link set uplink up',
  ])
  const token = 'administrator-of-the-test'
  const tokens = join(folder, 'tokens.csv')
  writeFileSync(tokens, `${token},admin,,system:masters\n`, { mode: 0o600 })
  const dataDir = join(folder, 'data')
  const server = startProcess(node, [
    launcherOf('orch-server'),
    `--data-dir=${dataDir}`,
    `--token-auth-file=${tokens}`,
    `--bind-address=${NODE_IP}`,
    `--node-ip=${NODE_IP}`,
    '--node-name=node-a',
    '--sandbox-node',
    `--pod-cidr=${POD_NETWORK}`,
    `--pod-namespace-prefix=${run}-pod`,
    ...flags,
  ])
  await server.said('orch-server is ready')
  const socket = join(dataDir, 'server.sock')
  const connection = connectionBySocket(socket, fixedCredential(bearer(token)))
  const api = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  const make = (path: string, object: JsonObject) => created(api, path, object)
  const daemon = await startDaemon({ node, folder, dataDir, make }, choice)
  return {
    api,
    make,
    node,
    dataDir,
    inspectionSocket: socketOf(folder),
    kubeconfig: join(dataDir, 'admin.kubeconfig'),
    runPod: (namespace, name, spec = {}, labels = {}) =>
      runPod({ api, make }, { namespace, name, spec, labels }),
    fromPod: async (address, path) => {
      const answer = await node.exec(['curl', '-sS', '-m', '20', `http://${address}:8080${path}`])
      return JSON.parse(answer) as JsonObject
    },
    async close() {
      for (const program of [daemon, server]) {
        program.signalAlone('SIGTERM')
        await program.ended
      }
      await api.close()
      await node.remove()
      rmSync(folder, { recursive: true })
    },
  }
}

interface DaemonParts {
  readonly node: Namespace
  readonly folder: string
  readonly dataDir: string
  readonly make: PodCluster['make']
}

/** node-proxy with the token of its account, which has its built-in role and nothing else. */
async function startDaemon(
  parts: DaemonParts,
  { flags = [], isRead = false }: DaemonChoice,
): Promise<LabProcess> {
  const { node, folder, dataDir, make } = parts
  const account = { namespace: 'kube-system', name: 'node-proxy' }
  await make('/api/v1/namespaces/kube-system/serviceaccounts', { metadata: { name: account.name } })
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'node-proxy' },
    roleRef: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'system:node-proxier',
    },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  })
  const kubeconfig = join(folder, 'node-proxy.kubeconfig')
  await node.exec([
    launcherOf('orch-server'),
    'kubeconfig',
    '--service-account=kube-system/node-proxy',
    `--data-dir=${dataDir}`,
    `--output=${kubeconfig}`,
  ])
  const daemon = startProcess(node, [
    launcherOf('node-proxy'),
    `--kubeconfig=${kubeconfig}`,
    '--hostname-override=node-a',
    `--cluster-cidr=${POD_NETWORK}`,
    `--inspection-socket=${socketOf(folder)}`,
    ...flags,
    ...(isRead ? await remoteInspection(parts) : []),
  ])
  await daemon.said('the rules are in the kernel for the first time')
  return daemon
}

function socketOf(folder: string): string {
  return join(folder, 'inspect.sock')
}

/** A certificate, the right to review callers, and the flags that name the files. */
async function remoteInspection({ node, folder, dataDir, make }: DaemonParts) {
  const tls = join(folder, 'tls')
  await node.exec([
    launcherOf('orch-server'),
    'node-certificate',
    '--node=node-a',
    `--address=${NODE_IP}`,
    `--data-dir=${dataDir}`,
    `--output=${tls}`,
  ])
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'node-proxy-reviews' },
    roleRef: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'system:auth-delegator',
    },
    subjects: [{ kind: 'ServiceAccount', namespace: 'kube-system', name: 'node-proxy' }],
  })
  return [
    `--inspection-bind-address=${NODE_IP}:10246`,
    `--inspection-tls-cert-file=${join(tls, 'tls.crt')}`,
    `--inspection-tls-private-key-file=${join(tls, 'tls.key')}`,
    `--inspection-client-ca-file=${join(dataDir, 'pki/ca.crt')}`,
  ]
}

async function created(api: ApiClient, path: string, object: JsonObject): Promise<JsonObject> {
  const made = await api.create(path, object)
  if (!made.ok) throw new Error(`${path}: ${JSON.stringify(made.failure)}`)
  return made.value as JsonObject
}

interface PodRequest {
  readonly namespace: string
  readonly name: string
  readonly spec: JsonObject
  readonly labels: JsonObject
}

async function runPod(
  { api, make }: Pick<PodCluster, 'api' | 'make'>,
  { namespace, name, spec, labels }: PodRequest,
): Promise<string> {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 }
  const command = [process.execPath, SCRIPT]
  const main = { name: 'main', image: 'none', command, readinessProbe }
  await make(pods, {
    metadata: { name, labels },
    spec: { terminationGracePeriodSeconds: 1, containers: [main], ...spec },
  })
  for (;;) {
    const pod = await api.get(`${pods}/${name}`)
    if (!pod.ok) throw new Error(`${pods}/${name}: ${JSON.stringify(pod.failure)}`)
    const status = objectAt(pod.value as JsonObject, 'status')
    const isReady = valueAt(arrayAt(status, 'containerStatuses')[0], 'ready') === true
    if (isReady) return stringAt(status, 'podIP')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
