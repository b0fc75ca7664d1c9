import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hasUpstreamProgram, upstreamProgram } from '../../test/support/lab/upstream-program.ts'
import { NODE_NAME } from '../lab/plan.ts'

export const KUBE_PROXY_NAME = 'kube-proxy 1.20'

/** Whether `npm run test:upstream` has built it. */
export function hasKubeProxy(): boolean {
  return hasUpstreamProgram('kube-proxy')
}

/** Starts kube-proxy in iptables mode in a namespace, with its defaults. */
export function startKubeProxy(node: {
  readonly namespace: string
  readonly url: string
  readonly clusterCidr: string
  /** Where it looks for iptables, instead of PATH. */
  readonly programs?: string
}) {
  const flags = [
    `--master=${node.url}`,
    `--cluster-cidr=${node.clusterCidr}`,
    '--proxy-mode=iptables',
  ]
  // 0: does not change the size of the conntrack table.
  const lab = [`--hostname-override=${NODE_NAME}`, '--conntrack-max-per-core=0']
  const startedAt = performance.now()
  const command = ['netns', 'exec', node.namespace, upstreamProgram('kube-proxy'), ...flags, ...lab]
  const path =
    node.programs === undefined ? {} : { PATH: `${node.programs}:${process.env['PATH']}` }
  const child = spawn('ip', command, { stdio: 'ignore', env: { ...process.env, ...path } })
  const ended = once(child, 'exit')
  return {
    pid: child.pid ?? 0,
    /** `performance.now()` when it was started. */
    startedAt,
    async stop(): Promise<void> {
      child.kill()
      await ended
    },
  }
}
