import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bearer, fixedCredential } from '../../../src/client/connection/credential/credential.ts'
import { connectionBySocket } from '../../../src/client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../../../src/client/http/api-client.ts'
import { failureError } from '../../../src/client/http/failure.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type Agent, startAgent } from '../../../src/sandbox/agent/agent.ts'
import {
  addNamespace,
  type Namespace,
  namespaceNamed,
} from '../../../src/sandbox/network/namespace.ts'
import { Program } from '../../../src/sandbox/network/program.ts'
import { NODE_IP, POD_NETWORK } from '../../../src/sandbox/network/topology.ts'
import { namespaceOf, runName } from '../../../src/sandbox/run/run.ts'
import { root } from '../../support/on-demand/root.ts'
import { writeMonitoringUser } from '../../support/prometheus/monitoring-user.ts'
import { PrometheusApi } from './prometheus-api.ts'
import { writeScrapeConfiguration } from './scrape-configuration.ts'

/** The label of all targets. */
export const CLUSTER = 'sandbox'
/** A second node on the network of the sandbox, in userspace mode, with an orch-dns of its own. */
export const SECOND_NODE_IP = '192.0.2.11'
/** The domain of that orch-dns; it forwards names of the other one to the sandbox's. */
export const EDGE_DOMAIN = 'edge.test'

const CONTROL_IP = '192.0.2.1'
const CLIENT_NETWORK = '192.0.2.20/32'
const METRICS = '0.0.0.0:10249'
const PROMETHEUS = '127.0.0.1:9090'

/** A sandbox whose programs a Prometheus scrapes. */
export interface ObservedSandbox {
  readonly prometheus: PrometheusApi
  /** The API, as its administrator. */
  readonly api: ApiClient
  readonly control: Namespace
  readonly node: Namespace
  readonly client: Namespace
  /** Sends requests from the client. */
  readonly clientAgent: Agent
}

/** Starts `npm start` with a second node, orch-dns and Prometheus; `stack` ends all of it. */
export async function startObservedSandbox(stack: AsyncDisposableStack): Promise<ObservedSandbox> {
  const { name, folder } = await startSandbox(stack)
  const namespace = (role: string) => namespaceNamed(namespaceOf(name, role))
  const [control, node, client] = [namespace('control'), namespace('node'), namespace('client')]
  const api = administrator(folder)
  stack.defer(() => api.close())
  await startSecondNode({ name, folder, control, api }, stack)
  const controlAgent = await startAgent(control)
  stack.defer(() => controlAgent.kill())
  const clientAgent = await startAgent(client)
  stack.defer(() => clientAgent.kill())
  await startPrometheus(folder, control, stack)
  const prometheus = new PrometheusApi(controlAgent, `http://${PROMETHEUS}`)
  return { prometheus, api, control, node, client, clientAgent }
}

async function startSandbox(stack: AsyncDisposableStack) {
  const command = [
    process.execPath,
    join(root, 'src/sandbox/main.ts'),
    '--proxy-mode=nftables',
    '--',
    '--nftables-traffic-counters',
    `--metrics-bind-address=${METRICS}`,
  ]
  const logFile = join(tmpdir(), `np-dashboards-${process.pid}.log`)
  stack.defer(() => rmSync(logFile, { force: true }))
  const sandbox = await start({ command, logFile, ready: 'its rules are in the kernel' }, stack)
  const name = runName(sandbox.pid ?? 0)
  const folder = readdirSync(tmpdir()).find((entry) => entry.startsWith(`${name}-`))
  if (folder === undefined) throw new Error(`the sandbox ${name} has no folder in ${tmpdir()}`)
  return { name, folder: join(tmpdir(), folder) }
}

interface Started {
  readonly command: readonly string[]
  readonly logFile: string
  /** A part of the line that it writes when it is ready. */
  readonly ready: string
}

/** Starts a program, and waits until it is ready; rejects with its last lines if it ends before. */
async function start(
  { command, logFile, ready }: Started,
  stack: AsyncDisposableStack,
): Promise<Program> {
  const isReady = Promise.withResolvers<void>()
  const onLine = (line: string) => line.includes(ready) && isReady.resolve()
  const program = new Program({ command, logFile, onLine })
  stack.defer(() => end(program))
  void program.ended.then((how) =>
    isReady.reject(new Error([`${command[0]} ended: ${how}`, ...program.lastLines(20)].join('\n'))),
  )
  await isReady.promise
  return program
}

/** Ends a program, however long that takes: the sandbox removes its namespaces and its folder. */
async function end(program: Program): Promise<void> {
  if (program.pid !== undefined) process.kill(program.pid, 'SIGTERM')
  await program.ended
}

/** A client of the API with the token that the sandbox made for its administrator. */
function administrator(folder: string): ApiClient {
  const [token = ''] = readFileSync(join(folder, 'administrator.csv'), 'utf8').split(',')
  const socket = join(folder, 'orch-server/server.sock')
  return createApiClient({
    connection: connectionBySocket(socket, fixedCredential(bearer(token))),
    clock: systemClock,
    userAgent: 'dashboards-test',
  })
}

interface SecondNode {
  readonly name: string
  readonly folder: string
  readonly control: Namespace
  readonly api: ApiClient
}

async function startSecondNode(
  { name, folder, control, api }: SecondNode,
  stack: AsyncDisposableStack,
): Promise<void> {
  const second = await addNamespace(namespaceOf(name, 'second'))
  await control.ip([
    `link add to-second type veth peer name eth0 netns ${second.name}`,
    'link set to-second master lan up',
  ])
  await second.ip([
    'link set eth0 up',
    `addr add ${SECOND_NODE_IP}/24 dev eth0`,
    `route add default via ${CONTROL_IP}`,
    `route add ${POD_NETWORK} via ${NODE_IP}`,
  ])
  await second.set({ 'net.ipv4.ip_forward': 1 })
  const made = await api.create('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'second-node' },
  })
  if (!made.ok) throw failureError(made.failure, 'Node second-node')
  const nodeProxy = [
    join(root, 'bin/node-proxy'),
    `--kubeconfig=${join(folder, 'node-proxy.kubeconfig')}`,
    '--hostname-override=second-node',
    '--proxy-mode=userspace',
    `--cluster-cidr=${POD_NETWORK}`,
    `--metrics-bind-address=${METRICS}`,
    `--inspection-socket=${join(folder, 'second.sock')}`,
  ]
  const orchDns = [
    join(root, 'bin/orch-dns'),
    `--kubeconfig=${join(folder, 'orch-server/admin.kubeconfig')}`,
    `--dns-address=${SECOND_NODE_IP}:53`,
    `--dns-client-networks=${CLIENT_NETWORK}`,
    `--cluster-domain=${EDGE_DOMAIN}`,
    `--dns-upstream=${NODE_IP}:53`,
  ]
  const log = (program: string) => join(folder, `second-${program}.log`)
  await Promise.all([
    start(
      {
        command: second.inside(nodeProxy),
        logFile: log('node-proxy'),
        ready: 'the rules are in the kernel for the first time',
      },
      stack,
    ),
    start(
      { command: second.inside(orchDns), logFile: log('orch-dns'), ready: 'orch-dns is ready' },
      stack,
    ),
  ])
}

async function startPrometheus(
  folder: string,
  control: Namespace,
  stack: AsyncDisposableStack,
): Promise<void> {
  const own = join(folder, 'prometheus')
  mkdirSync(own)
  const config = writeScrapeConfiguration(own, {
    cluster: CLUSTER,
    credentials: await writeMonitoringUser(join(folder, 'orch-server/pki'), own),
    targets: {
      'node-proxy': [`${NODE_IP}:10249`, `${SECOND_NODE_IP}:10249`],
      'orch-server': [`${NODE_IP}:6443`],
      'orch-dns': [`${SECOND_NODE_IP}:9153`],
    },
  })
  const command = control.inside([
    'prometheus',
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(own, 'data')}`,
    `--web.listen-address=${PROMETHEUS}`,
  ])
  const ready = 'Server is ready to receive web requests'
  await start({ command, logFile: join(own, 'log'), ready }, stack)
}
