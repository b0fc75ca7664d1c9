import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApiRelay, throughRelay } from '../inspection/api-relay.ts'
import { type CertifiedNode, certifyNode } from '../inspection/certify-node.ts'
import { createDaemon, type Daemon, type DaemonStart } from '../lab/daemon.ts'
import { createLab, type Lab } from '../lab/lab.ts'
import { NODE_NAME, WORLD } from '../lab/plan.ts'
import { closeSite, openSite, type Site } from '../lab/site.ts'
import { launcherOf } from '../programs.ts'

const ROOT = join(import.meta.dirname, '../../..')
const RBAC = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'

/** A further node: a network namespace with a node-proxy of its own, on the network of the lab's node. */
export interface FurtherNode {
  readonly site: Site
  /** Starts its node-proxy, or restarts it with other options. */
  start(options?: DaemonStart): Promise<void>
  readonly daemon: Daemon
}

/** An orch-server and three nodes that serve remote inspection: the lab's, `node-b` and `node-c`. */
export interface NodeFleet extends AsyncDisposable {
  readonly lab: Lab
  readonly b: FurtherNode
  readonly c: FurtherNode
}

/** Starts the server and the nodes, with running node-proxies. */
export async function startNodeFleet(): Promise<NodeFleet> {
  const lab = await createLab({ api: 'orch-server' })
  const relay = await startApiRelay(lab)
  await mayReview(lab)
  const flags = await certifyNode(lab, placed(lab, NODE_NAME, '192.168.0.2'))
  await lab.daemon.start({ flags })
  const [b, c] = await Promise.all([
    addNode(lab, 'node-b', '192.168.0.12'),
    addNode(lab, 'node-c', '192.168.0.13'),
  ])
  return {
    lab,
    b,
    c,
    async [Symbol.asyncDispose]() {
      for (const { daemon, site } of [b, c]) {
        await daemon.kill()
        await closeSite(site)
      }
      relay.signalAlone('SIGKILL')
      await relay.ended
      await lab.close()
    },
  }
}

/** Lets node-proxies ask the server who may read them. */
async function mayReview({ api }: Lab): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io'
  const { status, body } = await api.request('POST', RBAC, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'lab-reviews' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'system:auth-delegator' },
    subjects: [{ apiGroup, kind: 'User', name: 'system:kube-proxy' }],
  })
  if (status !== 201) throw new Error(`POST ${RBAC}: ${status} ${body}`)
}

function placed({ folder }: Lab, name: string, address: string): CertifiedNode {
  return { name, address, folder: join(folder, name) }
}

async function addNode(lab: Lab, name: string, address: string): Promise<FurtherNode> {
  const site = await openSite(lab.node.namespace.name.replace(/-node$/, `-${name}`))
  const { namespace } = site
  await lab.world.namespace.ip([
    `link add to-${name} type veth peer name eth0 netns ${namespace.name}`,
    `link set to-${name} master lan up`,
  ])
  await namespace.ip([
    `addr add ${address}/24 dev eth0`,
    'link set eth0 up',
    `route add default via ${WORLD.v4}`,
  ])
  await namespace.exec(['sysctl', '-q', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1'])
  await lab.api.apply({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { addresses: [{ type: 'InternalIP', address }] },
  })
  const flags = await certifyNode(lab, placed(lab, name, address))
  const daemon = createDaemon({
    node: site,
    api: lab.api,
    folder: join(lab.folder, name),
    kubeconfigText: async () => throughRelay(await lab.apiServer.kubeconfigFor('node-proxy')),
  })
  const start = async (options: DaemonStart = {}): Promise<void> => {
    await daemon.stop()
    const config = { hostnameOverride: name, ...options.config }
    await daemon.start({ ...options, flags, config })
    await daemon.synced()
  }
  await start()
  return { site, daemon, start }
}

/** A launcher of node-proxy that pretends to be this version, by a package.json that only it sees. */
export function launcherOfVersion({ folder }: Lab, version: string): string {
  const [manifest, launcher] = [join(folder, 'other-package.json'), join(folder, 'other-version')]
  writeFileSync(manifest, JSON.stringify({ name: 'node-proxy', type: 'module', version }))
  const script = `mount --bind '${manifest}' '${ROOT}/package.json' && exec '${launcherOf('node-proxy')}' "$@"`
  writeFileSync(launcher, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return launcher
}
