import { REPLICAS } from './cluster/endpoints.ts'
import type { Request } from './request.ts'
import { namespaceOf } from './run.ts'
import type { Place } from './sandbox.ts'

/** `ip netns exec … curl …`: a request as somebody in a terminal makes it. */
export function curlOf(run: string, { from, source, url }: Request): string {
  const bind = source === undefined ? '' : `--interface ${source} `
  return `${enter(run, from)} curl -s ${bind}${url}`
}

/** The command that scales a Service, for any terminal of the machine. */
export function scaleOf(run: string, service: string, api: string): string {
  const patch = JSON.stringify({ metadata: { annotations: { [REPLICAS]: '1' } } })
  return [
    `ip netns exec ${namespaceOf(run, 'control')} curl -s -X PATCH`,
    `-H 'Content-Type: application/merge-patch+json'`,
    `${api}/api/v1/namespaces/default/services/${service} -d '${patch}'`,
  ].join(' ')
}

/** How to run a command at a place: `ip netns exec np-sandbox-4711-pod1`. */
export function enter(run: string, place: Place): string {
  return `ip netns exec ${namespaceOf(run, place.replace('-', ''))}`
}
