import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newTestAuthority, type TestAuthority } from '../../support/certificates/test-authority.ts'
import { startEtcd } from '../../support/etcd/etcd-process.ts'
import { kubeconfigText } from '../../support/lab/kubeconfig.ts'
import { newSigningKey } from '../../support/lab/signing-key.ts'
import { upstreamProgram } from '../../support/lab/upstream-program.ts'
import { Kubectl } from './kubectl.ts'
import {
  API_CLUSTER_IP,
  API_PORT,
  LAN,
  NODE_NAMES,
  POD_NETWORKS,
  SERVICE_NETWORKS,
} from './plan.ts'
import { eventually, type Program, startProgram } from './programs.ts'

const URL = `https://${LAN.v4}:${API_PORT}`
const TIMEOUT_MS = 180_000
/** What 1.20 has as alpha: two families, and endpoints that say that they terminate. */
const GATES = '--feature-gates=IPv6DualStack=true,EndpointSliceTerminatingCondition=true'

/** What kubelets and users of a cluster reach, in the namespace of the tests. */
export interface ControlPlane extends AsyncDisposable {
  /** Of the API server, at the address of the network of nodes. */
  readonly port: number
  /** As an administrator. */
  readonly kubectl: Kubectl
  /** PEM of the authority of clients and servers. */
  readonly ca: string
  kubeconfigOf(node: string): Promise<string>
  /** Lets a Node that has just registered have networks for its Pods, one of each family. */
  giveNetworks(node: string): Promise<void>
}

/** etcd and the three programs of Kubernetes; resolves once the API server is ready. */
export async function startControlPlane(folder: string): Promise<ControlPlane> {
  await using starting = new AsyncDisposableStack()
  mkdirSync(folder, { recursive: true })
  const files = (name: string): string => join(folder, name)
  const tokens = new Map(USERS.map(([user]) => [user, randomUUID()]))
  const authority = await newTestAuthority('cluster')
  await writeFiles(files, authority, tokens)
  const kubeconfigOf = (user: string): string => {
    const token = tokens.get(user)
    if (token === undefined) throw new Error(`${user} has no token: add it to USERS`)
    return kubeconfigText({ url: URL, ca: authority.cert, credential: { token } })
  }
  const etcd = starting.use(await startEtcd())
  const start = (
    name: 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler',
    flags: readonly string[],
  ): Program => {
    const program = startProgram(files(`${name}.log`), [upstreamProgram(name), ...flags])
    starting.defer(() => program.kill())
    return program
  }
  const server = start('kube-apiserver', serverFlags(files, etcd.endpoint))
  writeFileSync(files('admin.kubeconfig'), kubeconfigOf('admin'), { mode: 0o600 })
  const kubectl = new Kubectl(files('admin.kubeconfig'), files('kubectl-cache'))
  await eventually(
    'kube-apiserver is ready',
    async () => {
      if (!server.isRunning()) throw new Error('it has ended')
      return (await kubectl.run(['get', '--raw', '/readyz'])) === 'ok'
    },
    { timeoutMs: TIMEOUT_MS, why: () => server.tail() },
  )
  for (const name of ['kube-controller-manager', 'kube-scheduler'] as const) {
    writeFileSync(files(`${name}.kubeconfig`), kubeconfigOf(`system:${name}`), { mode: 0o600 })
    start(name, [
      ...COMMON,
      `--kubeconfig=${files(`${name}.kubeconfig`)}`,
      ...(name === 'kube-scheduler' ? [] : managerFlags(files)),
    ])
  }
  const running = starting.move()
  return {
    port: API_PORT,
    kubectl,
    ca: authority.cert,
    kubeconfigOf: (node) => Promise.resolve(kubeconfigOf(userOfNode(node))),
    // kube-controller-manager does.
    giveNetworks: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** As the API knows the kubelet of a node. */
export function userOfNode(name: string): string {
  return `system:node:${name}`
}

/** Who authenticates by a token, with the group. */
const USERS: readonly (readonly [user: string, group: string])[] = [
  ['admin', 'system:masters'],
  ['system:kube-controller-manager', ''],
  ['system:kube-scheduler', ''],
  ...NODE_NAMES.map((name) => [userOfNode(name), 'system:nodes'] as const),
]

type Files = (name: string) => string

async function writeFiles(
  files: Files,
  authority: TestAuthority,
  tokens: ReadonlyMap<string, string>,
): Promise<void> {
  const secret = { mode: 0o600 }
  const table = USERS.map(([user, group]) => `${tokens.get(user)},${user},${user},"${group}"\n`)
  writeFileSync(files('tokens.csv'), table.join(''), secret)
  writeFileSync(files('ca.crt'), authority.cert)
  const server = await authority.server([LAN.v4, API_CLUSTER_IP, '127.0.0.1'])
  const client = await authority.client('kube-apiserver', ['system:masters'])
  for (const [name, issued] of [
    ['server', server],
    ['kubelet-client', client],
  ] as const) {
    writeFileSync(files(`${name}.crt`), issued.cert)
    writeFileSync(files(`${name}.key`), issued.key, secret)
  }
  newSigningKey(files('.'))
}

function serverFlags(files: Files, etcd: string): readonly string[] {
  return [
    GATES,
    `--etcd-servers=${etcd}`,
    `--secure-port=${API_PORT}`,
    `--advertise-address=${LAN.v4}`,
    `--tls-cert-file=${files('server.crt')}`,
    `--tls-private-key-file=${files('server.key')}`,
    `--client-ca-file=${files('ca.crt')}`,
    `--token-auth-file=${files('tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    `--service-cluster-ip-range=${SERVICE_NETWORKS}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${files('service-account.key')}`,
    `--service-account-key-file=${files('service-account.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-client-certificate=${files('kubelet-client.crt')}`,
    `--kubelet-client-key=${files('kubelet-client.key')}`,
  ]
}

/** Of both others: one instance that serves nothing. */
const COMMON = [GATES, '--leader-elect=false', '--port=0', '--secure-port=0']

function managerFlags(files: Files): readonly string[] {
  return [
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${files('service-account.key')}`,
    `--root-ca-file=${files('ca.crt')}`,
    '--allocate-node-cidrs=true',
    `--cluster-cidr=${POD_NETWORKS}`,
    `--service-cluster-ip-range=${SERVICE_NETWORKS}`,
    '--node-cidr-mask-size-ipv4=24',
    '--node-cidr-mask-size-ipv6=64',
    // A node that is off is noticed in half the usual time.
    '--node-monitor-period=2s',
    '--node-monitor-grace-period=20s',
  ]
}
