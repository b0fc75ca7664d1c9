import { join } from 'node:path'
import { stringAt } from '../../src/lib/json.ts'
import { UserClient } from '../../test/support/identity/user-client.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../test/support/orchserver/orch-server-process.ts'
import { nodeAddress, nodeName } from './node-address.ts'
import { startNodes } from './nodes-process.ts'

export interface ClusterSize {
  readonly nodes: number
  /** The number of Services of each node. */
  readonly services: number
}

/** A real orch-server with nodes that one process simulates. */
export interface ServedCluster extends ClusterSize, AsyncDisposable {
  readonly url: string
  readonly pid: number
  /** The token of a user who may read everything that the page shows. */
  readonly token: string
}

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'

/** Turns off the controller of node lifecycles, because the nodes have no heartbeat. */
const FLAGS = ['--controllers=*,-nodelifecycle']

export async function startServedCluster(size: ClusterSize): Promise<ServedCluster> {
  await using held = new AsyncDisposableStack()
  const server = held.use(await startOrchServer({ flags: FLAGS }))
  held.use(await startNodes(join(server.dataDir, 'pki'), size))
  const token = await fill(server, size.nodes)
  const owned = held.move()
  return {
    ...size,
    token,
    url: server.url,
    pid: server.pid ?? 0,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Registers the nodes. @returns the token of a reader of the page */
async function fill(server: OrchServerProcess, nodes: number): Promise<string> {
  await using admin = await UserClient.admin(server)
  for (let number = 1; number <= nodes; number++) {
    const addresses = [{ type: 'InternalIP', address: nodeAddress(number) }]
    const conditions = [{ type: 'Ready', status: 'True' }]
    await admin.create('/api/v1/nodes', {
      metadata: { name: nodeName(number) },
      status: { addresses, conditions },
    })
  }
  await admin.create(ACCOUNTS, { metadata: { name: 'page' } })
  await admin.create(BINDINGS, {
    metadata: { name: 'page' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'page' }],
  })
  return stringAt(await admin.create(`${ACCOUNTS}/page/token`, { spec: {} }), 'status', 'token')
}
