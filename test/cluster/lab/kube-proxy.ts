import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { KUBE_PROXY_ACCOUNT } from '../../support/kubeadm/config-map.ts'
import { root } from '../../support/on-demand/root.ts'
import { KUBE_PROXY_ARCHIVE } from '../images/images.ts'
import type { Cluster } from './cluster.ts'
import { API_PORT, LAN, POD_NETWORKS } from './plan.ts'
import { clusterFiles } from './surroundings.ts'

/** In iptables mode; limits of conntrack are the machine's. */
const CONFIG = {
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  mode: 'iptables',
  clusterCIDR: POD_NETWORKS,
  clientConnection: { kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf' },
  featureGates: { IPv6DualStack: true },
  conntrack: { maxPerCore: 0, min: 0 },
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
const KUBECONFIG = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    {
      name: 'default',
      cluster: {
        'certificate-authority': `${ACCOUNT}/ca.crt`,
        server: `https://${LAN.v4}:${API_PORT}`,
      },
    },
  ],
  users: [{ name: 'default', user: { tokenFile: `${ACCOUNT}/token` } }],
  contexts: [{ name: 'default', context: { cluster: 'default', user: 'default' } }],
  'current-context': 'default',
}

/** Installs kube-proxy as kubeadm does; resolves when it is ready on every node. */
export async function installKubeProxy(cluster: Cluster): Promise<void> {
  const archive = join(clusterFiles().images, KUBE_PROXY_ARCHIVE)
  await Promise.all(cluster.nodes.map((node) => node.importImage(archive)))
  const { kubectl } = cluster
  await kubectl.run(['apply', '-f', '-'], { input: readFileSync(KUBE_PROXY_ACCOUNT.file, 'utf8') })
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'kube-proxy', namespace: 'kube-system' },
    data: { 'config.conf': stringify(CONFIG), 'kubeconfig.conf': stringify(KUBECONFIG) },
  })
  await kubectl.run(['apply', '-f', join(root, 'test/support/kubeadm/kube-proxy.daemonset.yaml')])
  await kubectl.rolledOut('daemonset/kube-proxy', 'kube-system')
}
