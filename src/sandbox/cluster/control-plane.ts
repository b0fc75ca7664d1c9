import { join } from 'node:path'
import { connectionBySocket } from '../../client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../../client/http/api-client.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Namespace } from '../network/namespace.ts'
import {
  BRIDGE,
  LOAD_BALANCER_POOL,
  NODE_IP,
  NODE_NAME,
  POD_NETWORK,
  SERVICE_NETWORK,
} from '../network/plan.ts'
import { Program } from '../process/program.ts'
import { namespaceOf, type Run } from '../run/run.ts'

const LAUNCHER = new URL('../../../bin/orch-server', import.meta.url).pathname

/** orch-server on the node, which also runs the node's pods. */
export interface ControlPlane {
  readonly kubeconfig: string
  /** Unix socket by which every namespace reaches the API. */
  readonly socket: string
  readonly api: ApiClient
  /** What orch-server said last, oldest first. */
  lastLines(count: number): readonly string[]
}

/** Starts it and waits until it is ready; `stack` ends it. Throws NP_SANDBOX_SERVER. */
export async function startControlPlane(
  run: Run,
  node: Namespace,
  stack: AsyncDisposableStack,
): Promise<ControlPlane> {
  const dataDir = join(run.folder, 'orch-server')
  const ready = Promise.withResolvers<void>()
  const program = new Program({
    command: node.inside([LAUNCHER, ...flags(run, dataDir)]),
    logFile: join(run.folder, 'orch-server.log'),
    onLine: (line) => line.includes('"orch-server is ready"') && ready.resolve(),
  })
  stack.defer(() => program.stop('SIGTERM'))
  void program.ended.then((how) => ready.reject(failed(how, program.lastLines(15))))
  await ready.promise
  const socket = join(dataDir, 'server.sock')
  const api = createApiClient({
    connection: connectionBySocket(socket),
    clock: systemClock,
    userAgent: 'node-proxy-sandbox',
  })
  stack.defer(() => api.close())
  return {
    ...{ socket, api },
    kubeconfig: join(dataDir, 'admin.kubeconfig'),
    lastLines: (count) => program.lastLines(count),
  }
}

function flags(run: Run, dataDir: string): readonly string[] {
  return [
    `--data-dir=${dataDir}`,
    `--service-cluster-ip-range=${SERVICE_NETWORK}`,
    `--load-balancer-pool=${LOAD_BALANCER_POOL}`,
    '--sandbox-node',
    `--node-name=${NODE_NAME}`,
    `--node-ip=${NODE_IP}`,
    `--pod-cidr=${POD_NETWORK}`,
    `--pod-bridge=${BRIDGE}`,
    `--pod-namespace-prefix=${namespaceOf(run.name, 'pod')}`,
  ]
}

function failed(how: string, lines: readonly string[]): NodeProxyError {
  const said = lines.map((line) => `    ${line}`)
  return new NodeProxyError('NP_SANDBOX_SERVER', [`orch-server ended: ${how}`, ...said].join('\n'))
}
