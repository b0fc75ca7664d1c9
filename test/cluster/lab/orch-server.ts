import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'
import { runOrchServerCommand } from '../../support/orchserver/run-command.ts'
import { type ControlPlane, userOfNode } from './control-plane.ts'
import { Kubectl } from './kubectl.ts'
import { LAN, NODE_NAMES, SERVICE_NETWORKS } from './plan.ts'

/** orch-server where kube-apiserver, kube-controller-manager and kube-scheduler would be. */
export interface OrchControlPlane extends ControlPlane {
  /** A kubeconfig of a service account, `NAMESPACE/NAME`, as docs/operate/install.md has it for machines without kubelet. */
  kubeconfigOfAccount(account: string): Promise<string>
  /** Kills the server, and starts it again. */
  restart(): Promise<void>
}

/** In the namespace of the tests; resolves once it is ready. */
export async function startOrchControlPlane(): Promise<OrchControlPlane> {
  await using starting = new AsyncDisposableStack()
  const flags = [
    '--bind-address=0.0.0.0',
    `--advertise-address=${LAN.v4}`,
    `--tls-san=${LAN.v4}`,
    `--service-cluster-ip-range=${SERVICE_NETWORKS}`,
  ]
  const server = starting.use(await startOrchServer({ flags }))
  const { dataDir } = server
  const kubectl = new Kubectl(server.kubeconfig, join(dataDir, '../kubectl-cache'))
  const port = Number(new URL(server.url).port)
  const kubeconfig = (...whose: readonly string[]): Promise<string> => {
    const where = [`--data-dir=${dataDir}`, `--server=https://${LAN.v4}:${port}`]
    return runOrchServerCommand('kubeconfig', ...where, ...whose)
  }
  const running = starting.move()
  return {
    port,
    kubectl,
    ca: readFileSync(join(dataDir, 'pki/ca.crt'), 'utf8'),
    kubeconfigOf: (node) => kubeconfig(`--user=${userOfNode(node)}`, '--group=system:nodes'),
    kubeconfigOfAccount: (account) => kubeconfig(`--service-account=${account}`),
    async giveNetworks(node) {
      const number = NODE_NAMES.findIndex((known) => known === node)
      const podCIDRs = [`10.244.${number}.0/24`, `fd00:10:244:${number}::/64`]
      const spec = JSON.stringify({ spec: { podCIDR: podCIDRs[0], podCIDRs } })
      await kubectl.run(['patch', 'node', node, '--type=merge', '-p', spec])
    },
    async restart() {
      await server.kill()
      await server.start()
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
