import { PUBLIC } from '../cluster/pod-manifest.ts'
import { namespaceOf, podNamespace } from '../run/run.ts'
import type { Request } from './request.ts'
import type { Place } from './sandbox.ts'

/** `ip netns exec … curl …`: a request as somebody in a terminal makes it. */
export function curlOf(run: string, { from, source, url }: Request): string {
  const bind = source === undefined ? '' : `--interface ${source} `
  return `${enter(run, from)} curl -s ${bind}${url}`
}

/** The command that takes a pod out of web-public, for any terminal of the machine. */
export function unlabelOf(pod: string, socket: string): string {
  const patch = JSON.stringify({ metadata: { labels: { [PUBLIC]: null } } })
  return [
    `curl -s --unix-socket ${socket} -X PATCH`,
    `-H 'Content-Type: application/merge-patch+json'`,
    `http://localhost/api/v1/namespaces/default/pods/${pod} -d '${patch}'`,
  ].join(' ')
}

/** How to run a command at a place: `ip netns exec np-sandbox-4711-client`. */
export function enter(run: string, place: Place): string {
  const isPod = place !== 'client' && place !== 'node'
  return `ip netns exec ${isPod ? podNamespace(run, place) : namespaceOf(run, place)}`
}
