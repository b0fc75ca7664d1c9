import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runOrchServerCommand } from '../orchserver/run-command.ts'
import { launcherOf } from '../programs.ts'
import { type ApiServer, type OrchServerKind, type ProgramUser, RANGES } from './api-server.ts'
import { createNodeApiServer, ETCD_URL } from './node-api-server.ts'
import { API_PORT } from './plan.ts'
import type { Site } from './site.ts'

const LAUNCHER = launcherOf('orch-server')

/** The accounts of programs; both Service proxies have the same role. */
const USERS: Readonly<Record<ProgramUser, string>> = {
  'node-proxy': 'system:kube-proxy',
  'kube-proxy': 'system:kube-proxy',
  'kube-controller-manager': 'system:kube-controller-manager',
}

export function isOrchServer(kind: string): kind is OrchServerKind {
  return kind.startsWith('orch-server')
}

/** orch-server on the loopback of `node`. */
export function createOrchServer(node: Site, kind: OrchServerKind, folder: string): ApiServer {
  const dataDir = join(folder, 'orch-server')
  const isOnEtcd = kind !== 'orch-server'
  const store = isOnEtcd ? [`--etcd-servers=${ETCD_URL}`] : []
  const pki = (name: string): string => readFileSync(join(dataDir, 'pki', name), 'utf8')
  return createNodeApiServer(node, {
    url: `https://127.0.0.1:${API_PORT}`,
    ca: () => pki('ca.crt'),
    admin: () => ({ cert: pki('admin.crt'), key: pki('admin.key') }),
    kubeconfigFor: (user) =>
      runOrchServerCommand('kubeconfig', `--user=${USERS[user]}`, `--data-dir=${dataDir}`),
    command: [LAUNCHER, `--data-dir=${dataDir}`, `--secure-port=${API_PORT}`, ...RANGES, ...store],
    etcdIn: isOnEtcd ? folder : undefined,
    ready: (running) => running.said('orch-server is ready'),
  })
}
