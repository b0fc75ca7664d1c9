import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** The account of kubeadm's DaemonSet, and the binding that gives it its role. */
export const KUBE_PROXY_ACCOUNT = {
  file: new URL('kube-proxy.account.yaml', import.meta.url),
  account: 'kube-proxy',
}

const CONFIG_MAP = new URL('kube-proxy.configmap.yaml', import.meta.url)

/** What kubeadm's DaemonSet mounts at `/var/lib/kube-proxy`, by file name. */
export function kubeadmFiles(): Readonly<Record<'config.conf' | 'kubeconfig.conf', string>> {
  const { data } = parse(readFileSync(CONFIG_MAP, 'utf8')) as {
    data: Record<'config.conf' | 'kubeconfig.conf', string>
  }
  return data
}
