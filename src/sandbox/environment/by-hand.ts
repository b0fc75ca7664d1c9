import { PUBLIC } from '../cluster/pod-manifest.ts'
import { namespaceOf, podNamespace } from '../run/run.ts'
import type { Request } from './request.ts'
import type { Sender } from './sandbox.ts'

/** `ip netns exec … curl …`: a request as an operator types it in a terminal. */
export function curlOf(run: string, { from, source, url }: Request): string {
  const bind = source === undefined ? '' : `--interface ${source} `
  return `${enter(run, from)} curl -s ${bind}${url}`
}

/** How the API is reached from any terminal of the machine. */
export interface ApiAccess {
  /** Path of its Unix socket. */
  readonly socket: string
  /** File with the header of an administrator. */
  readonly authorization: string
}

/** The command that takes a pod out of web-public, for any terminal of the machine. */
export function unlabelOf(pod: string, { socket, authorization }: ApiAccess): string {
  const patch = JSON.stringify({ metadata: { labels: { [PUBLIC]: null } } })
  return [
    `curl -s --unix-socket ${socket} -H @${authorization} -X PATCH`,
    `-H 'Content-Type: application/merge-patch+json'`,
    `http://localhost/api/v1/namespaces/default/pods/${pod} -d '${patch}'`,
  ].join(' ')
}

/** How to run a command in the namespace of a sender: `ip netns exec np-sandbox-4711-client`. */
export function enter(run: string, sender: Sender): string {
  const isPod = sender !== 'client' && sender !== 'node'
  return `ip netns exec ${isPod ? podNamespace(run, sender) : namespaceOf(run, sender)}`
}
