import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiServer } from './api-process.ts'
import { API_PORT, NODE_ADDRESSES } from './plan.ts'
import { type LabProcess, startProcess } from './process.ts'
import type { Site } from './site.ts'
import { upstreamProgram } from './upstream-program.ts'

const [ADDRESS = ''] = NODE_ADDRESSES[0].split('/')
const SERVES_AT = `https://${ADDRESS}:${API_PORT}`
const ETCD = 'http://127.0.0.1:2379'
const POLL_MS = 100
const PATIENCE_MS = 60_000

/** Mode AlwaysAllow would turn away whoever has no name. */
const ANYTHING = {
  apiVersion: 'abac.authorization.kubernetes.io/v1beta1',
  kind: 'Policy',
  spec: {
    ...{ group: 'system:unauthenticated', nonResourcePath: '*' },
    ...{ namespace: '*', apiGroup: '*', resource: '*' },
  },
}

/**
 * Kubernetes' own API server with an etcd, in the namespace of `node`, where everybody may do
 * everything; `hangUp` is kill -9, and `answerAgain` starts it again. Version 1.20 takes one family.
 */
export function createKubeApiserver(node: Site, folder: string): ApiServer {
  const ours = join(folder, 'kube-apiserver')
  const command = [upstreamProgram('kube-apiserver'), ...flagsWith(ours)]
  const certificate = join(ours, 'apiserver.crt')
  let etcd: LabProcess | undefined
  let running: LabProcess | undefined

  const ca = (): string => readFileSync(certificate, 'utf8')
  async function isReady(): Promise<boolean> {
    if (!existsSync(certificate)) return false
    const request = { url: `${SERVES_AT}/readyz`, ca: ca() }
    const reply = await node.agent.call('http', request).catch(() => null)
    return reply?.status === 200
  }
  async function start(): Promise<void> {
    if (etcd === undefined) {
      etcd = startProcess(node.namespace, ['etcd', `--data-dir=${join(folder, 'etcd')}`])
      await etcd.said('ready to serve client requests')
    }
    running = startProcess(node.namespace, command)
    const deadline = performance.now() + PATIENCE_MS
    while (!(await isReady())) {
      if (performance.now() > deadline) throw new Error(`never ready:\n${running.output()}`)
      await delay(POLL_MS)
    }
  }
  async function kill(): Promise<void> {
    running?.tell('SIGKILL')
    await running?.ended
  }
  return {
    url: SERVES_AT,
    ca,
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

function flagsWith(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true })
  const key = join(folder, 'service-account.key')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(key, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  const policy = join(folder, 'policy.jsonl')
  writeFileSync(policy, JSON.stringify(ANYTHING))
  return [
    ...[`--etcd-servers=${ETCD}`, `--cert-dir=${folder}`, `--secure-port=${API_PORT}`],
    ...[`--advertise-address=${ADDRESS}`, '--endpoint-reconciler-type=none'],
    ...['--service-account-issuer=https://kubernetes.default.svc'],
    ...['--authorization-mode=ABAC', `--authorization-policy-file=${policy}`],
    ...[`--service-account-signing-key-file=${key}`, `--service-account-key-file=${key}`],
    ...['--disable-admission-plugins=ServiceAccount,TaintNodesByCondition'],
    ...['--service-cluster-ip-range=172.16.0.0/12', '--service-node-port-range=1-32767'],
  ]
}
