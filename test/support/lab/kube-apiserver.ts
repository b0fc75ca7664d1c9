import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Api, createApi } from './api.ts'
import type { ApiServer } from './api-server.ts'
import { auditUsers } from './audited-users.ts'
import { kubeconfigText } from './kubeconfig.ts'
import { tokenOfManifest } from './manifest-account.ts'
import { createNodeApiServer, ETCD_URL } from './node-api-server.ts'
import { API_PORT, NODE_ADDRESSES } from './plan.ts'
import { newSigningKey } from './signing-key.ts'
import type { Site } from './site.ts'
import { upstreamProgram } from './upstream-program.ts'

const [ADDRESS = ''] = NODE_ADDRESSES[0].split('/')
const SERVES_AT = `https://${ADDRESS}:${API_PORT}`
const MANIFEST = {
  file: new URL('../../../config/kubernetes/node-proxy/rbac.yaml', import.meta.url),
  account: 'node-proxy',
}
/** Its data folder below the folder of the lab; `auditUsers` reads its audit log there. */
export const KUBE_APISERVER_FOLDER = 'kube-apiserver'

const POLL_MS = 100
const TIMEOUT_MS = 200_000

/** Users, who authenticate by tokens, and their groups; Kubernetes binds both to roles. */
const USERS = {
  admin: ['admin', 'system:masters'],
  'kube-controller-manager': ['system:kube-controller-manager', ''],
  'kube-proxy': ['system:kube-proxy', ''],
} as const

/**
 * Kubernetes' own API server with an etcd, in the namespace of `node`, with RBAC: programs of
 * Kubernetes have its roles, and node-proxy that of our manifest. Version 1.20 takes one family.
 */
export function createKubeApiserver(node: Site, folder: string): ApiServer {
  const ours = join(folder, KUBE_APISERVER_FOLDER)
  const certificate = join(ours, 'apiserver.crt')
  const ca = (): string => readFileSync(certificate, 'utf8')
  const tokens = newTokens()
  mkdirSync(ours, { recursive: true })
  const admin = { token: tokens.admin }
  const api = (): Api => createApi(node.agent, { url: SERVES_AT, ca: ca(), credential: admin })
  async function isReady(): Promise<boolean> {
    if (!existsSync(certificate)) return false
    const request = { url: `${SERVES_AT}/readyz`, ca: ca() }
    const reply = await node.agent.call('http', request).catch(() => null)
    return reply?.status === 200
  }
  return createNodeApiServer(node, {
    url: SERVES_AT,
    ca,
    admin: () => admin,
    async kubeconfigFor(user) {
      const token = user === 'node-proxy' ? await tokenOfManifest(api(), MANIFEST) : tokens[user]
      return kubeconfigText({ url: SERVES_AT, ca: ca(), credential: { token } })
    },
    command: [upstreamProgram('kube-apiserver'), ...flagsWith(ours, tokens)],
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

type Tokens = Readonly<Record<keyof typeof USERS, string>>

function newTokens(): Tokens {
  return {
    admin: randomUUID(),
    'kube-controller-manager': randomUUID(),
    'kube-proxy': randomUUID(),
  }
}

function tokenTable(tokens: Tokens): string {
  return Object.entries(USERS)
    .map(([user, [name, group]]) => `${tokens[user as keyof Tokens]},${name},${name},"${group}"\n`)
    .join('')
}

function flagsWith(folder: string, tokens: Tokens): readonly string[] {
  const key = newSigningKey(folder)
  const table = join(folder, 'tokens.csv')
  writeFileSync(table, tokenTable(tokens), { mode: 0o600 })
  return [
    `--etcd-servers=${ETCD_URL}`,
    `--cert-dir=${folder}`,
    `--secure-port=${API_PORT}`,
    `--advertise-address=${ADDRESS}`,
    '--endpoint-reconciler-type=none',
    '--allow-privileged=true',
    '--service-account-issuer=https://kubernetes.default.svc',
    '--authorization-mode=RBAC',
    `--token-auth-file=${table}`,
    ...auditUsers(folder).flags,
    `--service-account-signing-key-file=${key}`,
    `--service-account-key-file=${key}`,
    '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
    '--service-cluster-ip-range=172.16.0.0/12',
    '--service-node-port-range=1-32767',
  ]
}
