import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ApiServer, type OrchServerKind, RANGES } from './api-server.ts'
import { createNodeApiServer, ETCD_URL } from './node-api-server.ts'
import { API_PORT } from './plan.ts'
import type { Site } from './site.ts'

const LAUNCHER = new URL('../../../bin/orch-server', import.meta.url).pathname

export function isOrchServer(kind: string): kind is OrchServerKind {
  return kind.startsWith('orch-server')
}

/** orch-server on the loopback of `node`. */
export function createOrchServer(node: Site, kind: OrchServerKind, folder: string): ApiServer {
  const dataDir = join(folder, 'orch-server')
  const isOnEtcd = kind !== 'orch-server'
  const store = isOnEtcd ? [`--etcd-servers=${ETCD_URL}`] : []
  return createNodeApiServer(node, {
    url: `https://127.0.0.1:${API_PORT}`,
    ca: () => readFileSync(join(dataDir, 'pki', 'ca.crt'), 'utf8'),
    command: [
      ...[LAUNCHER, `--data-dir=${dataDir}`, `--secure-port=${API_PORT}`],
      ...RANGES,
      ...store,
    ],
    etcdIn: isOnEtcd ? folder : undefined,
    ready: (running) => running.said('orch-server is ready'),
  })
}
