import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ApiServer, RANGES } from './api-process.ts'
import { API_PORT } from './plan.ts'
import { type LabProcess, startProcess } from './process.ts'
import type { Site } from './site.ts'

const LAUNCHER = new URL('../../../bin/orch-server', import.meta.url).pathname
const ETCD = '--etcd-servers=http://127.0.0.1:2379'

/** The program with its own store, or with one in an etcd of the lab. */
export type OrchServerKind = 'orch-server' | 'orch-server on etcd'

export function isOrchServer(kind: string): kind is OrchServerKind {
  return kind.startsWith('orch-server')
}

/** orch-server on the loopback of `node`; `hangUp` is kill -9, and `answerAgain` starts it again. */
export function createOrchServer(node: Site, kind: OrchServerKind, folder: string): ApiServer {
  const dataDir = join(folder, 'orch-server')
  const flags = [`--data-dir=${dataDir}`, `--secure-port=${API_PORT}`, ...RANGES]
  const isOnEtcd = kind !== 'orch-server'
  let etcd: LabProcess | undefined
  let running: LabProcess | undefined

  async function start(): Promise<void> {
    if (isOnEtcd && etcd === undefined) {
      etcd = startProcess(node.namespace, ['etcd', `--data-dir=${join(folder, 'etcd')}`])
      await etcd.said('ready to serve client requests')
    }
    const command = [LAUNCHER, ...flags, ...(isOnEtcd ? [ETCD] : [])]
    running = startProcess(node.namespace, command)
    await running.said('orch-server is ready')
  }
  async function kill(): Promise<void> {
    running?.tell('SIGKILL')
    await running?.ended
  }
  return {
    url: `https://127.0.0.1:${API_PORT}`,
    ca: () => readFileSync(join(dataDir, 'pki', 'ca.crt'), 'utf8'),
    start,
    hangUp: kill,
    answerAgain: start,
    signal: (name) => running?.tell(name),
    async stop() {
      await kill()
      etcd?.tell('SIGKILL')
      await etcd?.ended
      etcd = undefined
    },
    output: () => running?.output() ?? '',
  }
}
