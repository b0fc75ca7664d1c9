import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../on-demand/root.ts'

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

/** The folder into which they are built. */
export const UPSTREAM_CACHE = join(root, 'node_modules/.cache/upstream')

/** Path of a program in the folder `NP_UPSTREAM_PROGRAMS`, or in that of the built ones. */
export function upstreamProgram(name: UpstreamProgram): string {
  if (!hasUpstreamProgram(name)) throw new Error(`${name}: npm run test:upstream brings it`)
  return pathOf(name)
}

/** Whether the program is there. */
export function hasUpstreamProgram(name: UpstreamProgram): boolean {
  return existsSync(pathOf(name))
}

function pathOf(name: UpstreamProgram): string {
  return join(process.env['NP_UPSTREAM_PROGRAMS'] ?? UPSTREAM_CACHE, name)
}
