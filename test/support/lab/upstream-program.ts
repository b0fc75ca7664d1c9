import { join } from 'node:path'

/** Programs of Kubernetes that `npm run test:upstream` builds. */
export const UPSTREAM_PROGRAMS = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
] as const

/** Those that `npm run test:cluster` builds. */
export const CLUSTER_PROGRAMS = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubectl',
  'kubelet',
] as const

export type UpstreamProgram = (typeof UPSTREAM_PROGRAMS)[number] | (typeof CLUSTER_PROGRAMS)[number]

/** Path of a program in the folder `NP_UPSTREAM_PROGRAMS`. */
export function upstreamProgram(name: UpstreamProgram): string {
  const folder = process.env['NP_UPSTREAM_PROGRAMS']
  if (folder === undefined) throw new Error(`${name}: npm run test:upstream brings it`)
  return join(folder, name)
}
