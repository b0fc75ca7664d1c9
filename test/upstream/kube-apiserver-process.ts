import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startEtcd } from '../support/etcd/etcd-process.ts'
import { freeAddress } from '../support/etcd/free-address.ts'
import { kubeconfigText } from '../support/lab/kubeconfig.ts'
import { newSigningKey } from '../support/lab/signing-key.ts'
import { upstreamProgram } from '../support/lab/upstream-program.ts'
import { tieToUs } from '../support/tie-to-us.ts'

const POLL_MS = 100
const TIMEOUT_MS = 90_000
const CONTROLLERS = 'namespace,serviceaccount,endpoint,endpointslice,garbagecollector'
const WORKLOADS = 'deployment,replicaset,daemonset,statefulset,disruption'

/** What runs beside kube-apiserver. */
export interface KubeApiserverOptions {
  /** Also the controllers of Deployments, ReplicaSets, DaemonSets and StatefulSets, and kube-scheduler. */
  readonly workloads?: boolean
  /** Requests a second that each of them may make; what Kubernetes has unless set. */
  readonly requestsPerSecond?: number
}

/** kube-apiserver with RBAC on the loopback, with an etcd and some controllers of its own. */
export interface KubeApiserverProcess extends AsyncDisposable {
  readonly url: string
  /** Path of the kubeconfig of an administrator. */
  readonly kubeconfig: string
  /** kill -9. Resolves once it is gone. */
  kill(): Promise<void>
  /** Starts it again at the same address. */
  start(): Promise<void>
}

/** Resolves once it is ready. */
export async function startKubeApiserver({
  workloads = false,
  requestsPerSecond,
}: KubeApiserverOptions = {}): Promise<KubeApiserverProcess> {
  await using starting = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'np-kube-apiserver-'))
  starting.defer(() => rm(folder, { recursive: true }))
  const etcd = starting.use(await startEtcd())
  const url = await freeAddress('https')
  const token = randomUUID()
  await writeFile(join(folder, 'tokens.csv'), `${token},admin,admin,"system:masters"\n`, {
    mode: 0o600,
  })
  const args = flagsOf(folder, url, etcd.endpoint)
  const kubeconfig = join(folder, 'admin.kubeconfig')
  let server = await startReady(args, { url, folder, token })
  starting.defer(() => end(server))
  const ca = await readFile(certificateIn(folder), 'utf8')
  await writeFile(kubeconfig, kubeconfigText({ url, ca, credential: { token } }), { mode: 0o600 })
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--port=0',
    '--secure-port=0',
    ...(requestsPerSecond === undefined
      ? []
      : [`--kube-api-qps=${requestsPerSecond}`, `--kube-api-burst=${requestsPerSecond}`]),
  ]
  const controllers = workloads ? `${CONTROLLERS},${WORKLOADS}` : CONTROLLERS
  const manager = spawnQuietly('kube-controller-manager', [
    ...flags,
    `--controllers=${controllers}`,
  ])
  starting.defer(() => end(manager))
  if (workloads) {
    const scheduler = spawnQuietly('kube-scheduler', flags)
    starting.defer(() => end(scheduler))
  }
  const running = starting.move()
  return {
    url,
    kubeconfig,
    kill: () => end(server),
    start: async () => {
      server = await startReady(args, { url, folder, token })
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

function flagsOf(folder: string, url: string, etcd: string): readonly string[] {
  const key = newSigningKey(folder)
  return [
    `--etcd-servers=${etcd}`,
    `--cert-dir=${folder}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${new URL(url).port}`,
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=RBAC',
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    `--service-account-signing-key-file=${key}`,
    `--service-account-key-file=${key}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
  ]
}

/** What it makes for itself at its first start. */
function certificateIn(folder: string): string {
  return join(folder, 'apiserver.crt')
}

function spawnQuietly(
  name: 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler',
  args: readonly string[],
): ChildProcess {
  const child = spawn(upstreamProgram(name), [...args], { stdio: 'ignore' })
  tieToUs(child)
  return child
}

interface ServerFiles {
  readonly url: string
  readonly folder: string
  readonly token: string
}

async function startReady(args: readonly string[], server: ServerFiles): Promise<ChildProcess> {
  const child = spawnQuietly('kube-apiserver', args)
  const deadline = performance.now() + TIMEOUT_MS
  while (!(await isReady(server))) {
    if (child.exitCode !== null) throw new Error(`kube-apiserver ended with ${child.exitCode}`)
    if (performance.now() > deadline) throw new Error('kube-apiserver was never ready')
    await delay(POLL_MS)
  }
  return child
}

async function isReady({ url, folder, token }: ServerFiles): Promise<boolean> {
  const ca = await readFile(certificateIn(folder), 'utf8').catch(() => undefined)
  if (ca === undefined) return false
  const headers = { authorization: `Bearer ${token}` }
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const sent = request(`${url}/readyz`, { ca, headers, agent: false }, (response) => {
    response.resume()
    resolve(response.statusCode === 200)
  })
  sent.on('error', () => resolve(false))
  sent.end()
  return promise
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
