import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiServer } from './api-server.ts'
import { createNodeApiServer, ETCD_URL } from './node-api-server.ts'
import { API_PORT, NODE_ADDRESSES } from './plan.ts'
import { newSigningKey } from './signing-key.ts'
import type { Site } from './site.ts'
import { upstreamProgram } from './upstream-program.ts'

const [ADDRESS = ''] = NODE_ADDRESSES[0].split('/')
const SERVES_AT = `https://${ADDRESS}:${API_PORT}`
const POLL_MS = 100
const TIMEOUT_MS = 60_000

/** Mode AlwaysAllow would turn away clients without a name. */
const ANYTHING = {
  apiVersion: 'abac.authorization.kubernetes.io/v1beta1',
  kind: 'Policy',
  spec: {
    ...{ group: 'system:unauthenticated', nonResourcePath: '*' },
    ...{ namespace: '*', apiGroup: '*', resource: '*' },
  },
}

/**
 * Kubernetes' own API server with an etcd, in the namespace of `node`, where every user may do
 * everything. Version 1.20 takes one family.
 */
export function createKubeApiserver(node: Site, folder: string): ApiServer {
  const ours = join(folder, 'kube-apiserver')
  const certificate = join(ours, 'apiserver.crt')
  const ca = (): string => readFileSync(certificate, 'utf8')
  async function isReady(): Promise<boolean> {
    if (!existsSync(certificate)) return false
    const request = { url: `${SERVES_AT}/readyz`, ca: ca() }
    const reply = await node.agent.call('http', request).catch(() => null)
    return reply?.status === 200
  }
  return createNodeApiServer(node, {
    url: SERVES_AT,
    ca,
    command: [upstreamProgram('kube-apiserver'), ...flagsWith(ours)],
    etcdIn: folder,
    async ready(running) {
      const deadline = performance.now() + TIMEOUT_MS
      while (!(await isReady())) {
        if (performance.now() > deadline) throw new Error(`never ready:\n${running.output()}`)
        await delay(POLL_MS)
      }
    },
  })
}

function flagsWith(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true })
  const key = newSigningKey(folder)
  const policy = join(folder, 'policy.jsonl')
  writeFileSync(policy, JSON.stringify(ANYTHING))
  return [
    ...[`--etcd-servers=${ETCD_URL}`, `--cert-dir=${folder}`, `--secure-port=${API_PORT}`],
    ...[`--advertise-address=${ADDRESS}`, '--endpoint-reconciler-type=none'],
    ...['--allow-privileged=true', '--service-account-issuer=https://kubernetes.default.svc'],
    ...['--authorization-mode=ABAC', `--authorization-policy-file=${policy}`],
    ...[`--service-account-signing-key-file=${key}`, `--service-account-key-file=${key}`],
    ...['--disable-admission-plugins=ServiceAccount,TaintNodesByCondition'],
    ...['--service-cluster-ip-range=172.16.0.0/12', '--service-node-port-range=1-32767'],
  ]
}
