import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { startKernel } from '../../../src/uml/start-kernel.ts'
import { run } from '../../support/lab/command.ts'
import { launcherOf } from '../../support/programs.ts'
import { ip, ROUTER } from './network.ts'
import { servesIn } from './node-proxy.ts'
import {
  IPVS_NAME,
  LAN,
  nodeAddresses,
  OTHER_CLIENT,
  POD_NETWORKS,
  SERVICE_NETWORK_V4,
} from './plan.ts'
import { clusterFiles } from './surroundings.ts'

const READY_MS = 120_000
/** A shell command, given to the kernel as `$1` and further arguments. */
const BOOT = `ip addr add "$1/24" dev vec0
ip link set vec0 up
ip route add default via ${LAN.v4}
sysctl -qw ${ROUTER.join(' ')}
shift
exec "$@"`
/** Where the kernel has the folder with the files of node-proxy. */
const FILES = '/machine'

/** A machine on the network of nodes, with node-proxy in ipvs mode and without a kubelet. */
export interface IpvsMachine extends AsyncDisposable {
  /** Where node ports answer. The client outside reaches cluster IPs over it. */
  readonly address: string
  /**
   * The address from which another client connects: where one uses a port at a node port and at a cluster IP at once, IPVS
   * mistakes the connections for each other (docs/semantics.md).
   */
  readonly otherClient: string
}

/**
 * User-mode Linux, because its kernel has ip_vs. Resolves once node-proxy is ready in ipvs mode. `kubeconfig` is the text
 * of one that may do what config/kubernetes/node-proxy grants.
 */
export async function startIpvsMachine(kubeconfig: string): Promise<IpvsMachine> {
  await using starting = new AsyncDisposableStack()
  const folder = join(clusterFiles().scratch, IPVS_NAME)
  mkdirSync(folder)
  writeFileSync(join(folder, 'kubeconfig'), kubeconfig, { mode: 0o600 })
  writeFileSync(join(folder, 'config.yaml'), stringify(CONFIG))
  await ip('', [
    `tuntap add dev ${IPVS_NAME} mode tap`,
    `link set ${IPVS_NAME} master ${LAN.bridge} up`,
  ])
  starting.defer(() => ip('', [`link del ${IPVS_NAME}`]))
  const address = nodeAddresses(IPVS_NAME).v4
  let said = ''
  const kernel = await startKernel({
    command: 'sh',
    args: ['-euc', BOOT, 'sh', address, launcherOf('node-proxy'), `--config=${FILES}/config.yaml`],
    share: [{ host: folder, inside: FILES }],
    tap: IPVS_NAME,
    onOutput: (text) => {
      said += text
    },
  })
  starting.defer(async () => {
    kernel.kill()
    await kernel.ended.catch(() => undefined)
  })
  prefer(kernel.pid)
  const runLine = (line: string): Promise<string> => run(['sh', '-euc', line])
  await servesIn({ name: IPVS_NAME, pages: address, run: runLine }, 'ipvs', {
    timeoutMs: READY_MS,
    why: () => said,
  })
  const made = [
    `addr add ${OTHER_CLIENT}/24 dev ${LAN.bridge}`,
    `route add ${SERVICE_NETWORK_V4} via ${address}`,
  ]
  await ip('', made)
  starting.defer(() => ip('', made.map((line) => line.replace(' add ', ' del ')).toReversed()))
  const running = starting.move()
  return { address, otherClient: OTHER_CLIENT, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

/**
 * Gives the session of a process ten times its share of the processors (sched(7), autogroup): a machine of its own would
 * share none with the nodes.
 */
function prefer(pid: number): void {
  const file = `/proc/${pid}/autogroup`
  if (existsSync(file)) writeFileSync(file, '-10')
}

const CONFIG = {
  apiVersion: 'proxy.config.orch.io/v1alpha1',
  kind: 'NodeProxyConfiguration',
  clientConnection: { kubeconfig: `${FILES}/kubeconfig` },
  hostnameOverride: IPVS_NAME,
  mode: 'ipvs',
  clusterCIDR: POD_NETWORKS,
  metricsBindAddress: '0.0.0.0:10249',
}
