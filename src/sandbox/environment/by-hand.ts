import { ACCOUNT_FILES } from '../agent/send-request.ts'
import { PUBLIC } from '../cluster/cluster.ts'
import { CLIENT_IP, NODE_IP } from '../network/topology.ts'
import type { SandboxOptions } from '../run/arguments.ts'
import { WAY_IN } from '../run/other-kernel.ts'
import { inspectionSocketOf, namespaceOf, type Run } from '../run/run.ts'
import type { Request } from './request.ts'

const FLAG = /^--iptables-backend[= ](nft|legacy)$/

/** What the commands for a terminal need to know about a sandbox. */
export interface SandboxAccess {
  readonly run: string
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string
}

/** A request as an operator types it: in a namespace by `ip netns exec`, in a pod by `orchctl exec`. */
export function curlOf(access: SandboxAccess, request: Request): string {
  const { from, source, url, asAccount } = request
  const bind = source === undefined ? '' : `--interface ${source} `
  if (from === 'client' || from === 'node') {
    return `${enter(access.run, from)} curl -s ${bind}${url}`
  }
  return `${inPod(access, from)} ${asAccount === true ? curlAsAccount(url) : `curl -s ${url}`}`
}

function inPod({ run, kubeconfig }: SandboxAccess, pod: string): string {
  return `${enter(run, 'node')} bin/orchctl --kubeconfig ${kubeconfig} exec ${pod} --`
}

function curlAsAccount(url: string): string {
  const token = 'Authorization: Bearer $(cat token)'
  return `sh -c 'cd ${ACCOUNT_FILES}; curl -s --cacert ca.crt -H "${token}" ${url}'`
}

/** How the API is reached from any terminal of the machine. */
export interface ApiAccess {
  /** Path of the administrator's kubeconfig. */
  readonly adminKubeconfig: string
  /** Path of its Unix socket. */
  readonly socket: string
  /** File with the header of an administrator. */
  readonly authorization: string
}

/** The command that removes a pod from web-public, for any terminal of the machine. */
export function unlabelOf(pod: string, { socket, authorization }: ApiAccess): string {
  const patch = JSON.stringify({ metadata: { labels: { [PUBLIC]: null } } })
  return [
    `curl -s --unix-socket ${socket} -H @${authorization} -X PATCH`,
    `-H 'Content-Type: application/merge-patch+json'`,
    `http://localhost/api/v1/namespaces/default/pods/${pod} -d '${patch}'`,
  ].join(' ')
}

/** How to run a command in the namespace of node or client: `ip netns exec np-sandbox-4711-client`. */
export function enter(run: string, sender: 'client' | 'node'): string {
  return `ip netns exec ${namespaceOf(run, sender)}`
}

/** The command by which node-proxy explains, on the node, a connection of the client to a node port. */
export function explainCommand(run: Pick<Run, 'folder'>): string {
  return `bin/node-proxy explain ${CLIENT_IP} ${NODE_IP}:30080 --socket ${inspectionSocketOf(run)}`
}

/** A command by which an operator may destroy the daemon's rules by accident. */
export function flushCommand(
  options: Pick<SandboxOptions, 'mode' | 'daemonFlags'>,
): readonly string[] {
  return options.mode === 'ipvs' ? ['ipvsadm', '-C'] : [iptablesProgram(options), '-t', 'nat', '-F']
}

/** The command that shows what the daemon wrote: the virtual servers, or the rules. */
export function showCommand(
  options: Pick<SandboxOptions, 'mode' | 'daemonFlags'>,
): readonly string[] {
  return options.mode === 'ipvs'
    ? ['ipvsadm', '-Ln']
    : [iptablesProgram(options), '-t', 'nat', '-S']
}

/**
 * Where to type the commands: in another terminal, which in User-mode Linux has to enter a shell of that kernel first.
 */
export function otherTerminal(env: Readonly<Record<string, string | undefined>>): string {
  const way = env[WAY_IN]
  return way === undefined ? 'in another terminal' : `in another terminal, after: ${way}`
}

/** The `iptables` that sees the daemon's rules: the machine's own, unless a flag names a variant. */
function iptablesProgram({ daemonFlags }: Pick<SandboxOptions, 'daemonFlags'>): string {
  const joined = daemonFlags.map((flag, i) => `${flag} ${daemonFlags[i + 1] ?? ''}`)
  const backend = [...daemonFlags, ...joined].map((flag) => FLAG.exec(flag)?.[1]).find(Boolean)
  return backend === undefined ? 'iptables' : `iptables-${backend}`
}
