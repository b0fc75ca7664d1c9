import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { type Api, createApi } from '../lab/api.ts'
import { RANGES } from '../lab/api-server.ts'
import { slice } from '../lab/objects.ts'
import { API_PORT } from '../lab/plan.ts'
import { startProcess } from '../lab/process.ts'
import type { Site } from '../lab/site.ts'
import { launcherOf } from '../programs.ts'

const MANIFESTS = new URL('../../../config/kubernetes/', import.meta.url)

/** orch-server, where node-proxy has the rights of the manifests, those for announcements included. */
export interface AnnouncingCluster {
  readonly api: Api
  /** The text of a kubeconfig of node-proxy. */
  readonly kubeconfig: () => Promise<string>
  readonly end: () => Promise<void>
}

/** Starts orch-server at an address of the namespace, with its data in a folder. */
export async function startCluster(
  { namespace, agent }: Site,
  data: string,
  address: string,
): Promise<AnnouncingCluster> {
  const command = [launcherOf('orch-server'), `--data-dir=${data}`, `--bind-address=${address}`]
  const server = startProcess(namespace, [...command, `--secure-port=${API_PORT}`, ...RANGES])
  await server.said('orch-server is ready')
  const pki = (name: string) => readFileSync(join(data, 'pki', name), 'utf8')
  const credential = { cert: pki('admin.crt'), key: pki('admin.key') }
  const api = createApi(agent, {
    url: `https://${address}:${API_PORT}`,
    ca: pki('ca.crt'),
    credential,
  })
  for (const file of ['node-proxy/rbac.yaml', 'components/announcement/rbac.yaml']) {
    const text = readFileSync(new URL(file, MANIFESTS), 'utf8')
    for (const document of parseAllDocuments(text)) await create(api, document.toJS())
  }
  return {
    api,
    kubeconfig() {
      const account = '--service-account=kube-system/node-proxy'
      const write = [launcherOf('orch-server'), 'kubeconfig', account, `--data-dir=${data}`]
      return namespace.exec(write, { timeoutMs: 60_000 })
    },
    async end() {
      server.signalAlone('SIGKILL')
      await server.ended
    },
  }
}

async function create(api: Api, object: { readonly kind: string }): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const path = {
    ServiceAccount: '/api/v1/namespaces/kube-system/serviceaccounts',
    ClusterRole: `${rbac}/clusterroles`,
    ClusterRoleBinding: `${rbac}/clusterrolebindings`,
    Role: `${rbac}/namespaces/kube-system/roles`,
    RoleBinding: `${rbac}/namespaces/kube-system/rolebindings`,
  }[object.kind]
  const { status, body } = await api.request('POST', path!, object)
  if (status >= 300) throw new Error(`${object.kind}: ${status} ${body}`)
}

/** The Node object of the node with this place in the list of nodes. */
export function nodeObject(name: string, at: number) {
  const addresses = [`192.0.2.1${at + 1}`, `2001:db8::1${at + 1}`]
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    spec: { podCIDRs: [`10.244.${at + 1}.0/24`] },
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  }
}

/** A Service with load balancer addresses, and its endpoints in the order of nodes; `pods`: on no node. */
export function loadBalancer(
  name: string,
  ips: readonly string[],
  spec: Readonly<Record<string, unknown>> = {},
) {
  const hasV6 = ips.some((ip) => ip.includes(':'))
  const hasV4 = ips.some((ip) => !ip.includes(':'))
  const families = [...(hasV4 ? ['IPv4'] : []), ...(hasV6 ? ['IPv6'] : [])]
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'shop' },
    spec: {
      type: 'LoadBalancer',
      ipFamilyPolicy: families.length === 2 ? 'RequireDualStack' : 'SingleStack',
      ipFamilies: families,
      ports: [{ port: 80, protocol: 'TCP' }],
      ...spec,
    },
    status: { loadBalancer: { ingress: ips.map((ip) => ({ ip, ipMode: 'VIP' })) } },
  }
}

/** Endpoints of a Service that are on no node. */
export function podsOf(name: string, families: readonly ('v4' | 'v6')[] = ['v4']) {
  return families.map((family) =>
    slice(`shop/${name}`, [{ ip: family === 'v4' ? '10.244.9.2' : 'fd00:244:9::2', node: '' }], {
      suffix: family,
    }),
  )
}
