import type { PodState } from '../../cluster/pod-state.ts'
import type { SliceState } from '../../cluster/slice-state.ts'
import { type ApiAccess, curlOf, enter, unlabelOf } from '../../environment/by-hand.ts'
import type { Reply, Request } from '../../environment/request.ts'
import { REQUESTS } from '../../environment/requests.ts'
import type { ServiceRow } from './cluster-view.ts'
import type { Line } from './style.ts'

/** A request of the stream and its outcome. */
export interface SentRequest {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly request: Request
  readonly reply: Reply
}

/** Everything that the screen shows. */
export interface View {
  readonly mode: string
  readonly run: string
  readonly api: ApiAccess
  /** Where the commands are to be typed, in words. */
  readonly terminal: string
  /** What to type on the node to see what happens to a connection. */
  readonly explain: string
  /** What to type on the node to show the daemon's rules, and to destroy them. */
  readonly show: string
  readonly flush: string
  /** Milliseconds since the sandbox was ready. */
  readonly upMs: number
  readonly services: readonly ServiceRow[]
  readonly backends: readonly SliceState[]
  readonly pods: readonly PodState[]
  /** Newest last. */
  readonly sent: readonly SentRequest[]
  /** The number of answered requests by pod, and of other outcomes by kind. */
  readonly answers: ReadonlyMap<string, number>
  readonly kinds: ReadonlyMap<Reply['kind'], number>
  readonly daemonPid: number | undefined
  readonly daemonLog: readonly string[]
  /** What the last key did. */
  readonly notice: string
}

/** Commands for another terminal. */
export function commandsByHand({
  run,
  api,
  pods,
  explain,
  show,
  flush,
}: Pick<View, 'run' | 'api' | 'pods' | 'explain' | 'show' | 'flush'>): readonly string[] {
  const place = { run, kubeconfig: api.adminKubeconfig }
  const pid = pods.find((pod) => pod.pid !== undefined)?.pid
  return [
    curlOf(place, REQUESTS.clientToPublic),
    curlOf(place, REQUESTS.podToWeb),
    curlOf(place, REQUESTS.podReadsServices),
    ...(pid === undefined ? [] : [`kill -9 ${pid}`]),
    `${enter(run, 'node')} ${explain}`,
    `${enter(run, 'node')} ${show}`,
    `${enter(run, 'node')} ${flush}`,
    `${enter(run, 'node')} curl -s http://127.0.0.1:10249/metrics`,
    unlabelOf('pod-3', api),
  ]
}

/** A command, broken into lines of at most `width` that a shell reads as one command. */
export function wrapCommand(command: string, width: number): readonly string[] {
  const words = command.match(/(?:[^\s']|'[^']*')+/g) ?? []
  const lines: string[] = []
  let line = ' '
  for (const word of words) {
    if (line.trim() !== '' && line.length + word.length + 3 > width) {
      lines.push(`${line} \\`)
      line = '   '
    }
    line += ` ${word}`
  }
  return [...lines, line]
}

export function byHand(view: View, width: number): readonly Line[] {
  const lines = commandsByHand(view).flatMap((command) => wrapCommand(command, width))
  return [
    [{ text: `TRY, ${view.terminal}`, look: 'dim' }],
    ...lines.map((text): Line => [{ text }]),
  ]
}
