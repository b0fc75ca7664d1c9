import { join } from 'node:path'
import type { ApiClient } from '../../client/http/api-client.ts'
import { failureError } from '../../client/http/failure.ts'
import type { Namespace } from '../network/namespace.ts'
import type { Run } from '../run/run.ts'

const LAUNCHER = new URL('../../../bin/orch-server', import.meta.url).pathname
const RBAC = 'rbac.authorization.k8s.io'
const ACCOUNT = { namespace: 'kube-system', name: 'node-proxy' }

export interface DaemonAccess {
  readonly run: Run
  readonly node: Namespace
  readonly dataDir: string
  /** A client with the permissions of an administrator. */
  readonly api: ApiClient
}

/** Creates the account of node-proxy, with its role, and a kubeconfig for it. @returns the path of the kubeconfig */
export async function daemonKubeconfig({ run, node, dataDir, api }: DaemonAccess): Promise<string> {
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
  const made = await api.create(path, object)
  if (!made.ok) throw failureError(made.failure, path)
}
