import { hostPort } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import type { PodState, SliceState } from '../cluster/cluster-state.ts'
import { type ApiAccess, curlOf, enter, unlabelOf } from '../environment/by-hand.ts'
import { REQUESTS, type Reply, type Request } from '../environment/request.ts'

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
  /** The name of the run, with which the names of its namespaces begin. */
  readonly runName: string
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
  /** The number of answered requests by pod, and of all requests by outcome. */
  readonly answersByPod: ReadonlyMap<string, number>
  readonly outcomes: ReadonlyMap<Reply['kind'], number>
  readonly daemonPid: number | undefined
  readonly daemonLog: readonly string[]
  /** What the last key did. */
  readonly notice: string
}

/** Commands for another terminal. */
export function commandsByHand({
  runName,
  api,
  pods,
  explain,
  show,
  flush,
}: Pick<View, 'runName' | 'api' | 'pods' | 'explain' | 'show' | 'flush'>): readonly string[] {
  const place = { run: runName, kubeconfig: api.adminKubeconfig }
  const pid = pods.find((pod) => pod.pid !== undefined)?.pid
  return [
    curlOf(place, REQUESTS.clientToPublic),
    curlOf(place, REQUESTS.podToWeb),
    curlOf(place, REQUESTS.podReadsServices),
    ...(pid === undefined ? [] : [`kill -9 ${pid}`]),
    `${enter(runName, 'node')} ${explain}`,
    `${enter(runName, 'node')} ${show}`,
    `${enter(runName, 'node')} ${flush}`,
    `${enter(runName, 'node')} curl -s http://127.0.0.1:10249/metrics`,
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

/** A Service as the screen shows it. */
export interface ServiceRow {
  readonly name: string
  /** `NodePort`, with `Local`, `affinity` and the source ranges (`only 203.0.113.0/24`) where they are set. */
  readonly kind: string
  /** Every address that leads to it: `10.96.0.20:80`, `node:30080`. */
  readonly addresses: readonly string[]
}

export function serviceRow(service: JsonObject): ServiceRow {
  const type = stringAt(service, 'spec', 'type') || 'ClusterIP'
  const local = stringAt(service, 'spec', 'externalTrafficPolicy') === 'Local' ? ['Local'] : []
  const sticky = stringAt(service, 'spec', 'sessionAffinity') === 'ClientIP' ? ['affinity'] : []
  const ranges = arrayAt(service, 'spec', 'loadBalancerSourceRanges').map(scalarText)
  const from = ranges.length > 0 ? [`only ${ranges.join(',')}`] : []
  return {
    name: stringAt(service, 'metadata', 'name'),
    kind: [type, ...local, ...sticky, ...from].join(' '),
    addresses: addressesOf(service),
  }
}

function addressesOf(service: JsonObject): readonly string[] {
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress')
  const ips = [
    stringAt(service, 'spec', 'clusterIP'),
    ...arrayAt(service, 'spec', 'externalIPs').map(scalarText),
    ...ingress.map((one) => stringAt(one, 'ip')),
  ].filter((ip) => ip !== '' && ip !== 'None')
  return arrayAt(service, 'spec', 'ports').flatMap((port) => {
    const nodePort = scalarText(valueAt(port, 'nodePort'))
    const own = ips.map((ip) => hostPort(ip, scalarText(valueAt(port, 'port'))))
    return nodePort === '' || nodePort === '0' ? own : [...own, `node:${nodePort}`]
  })
}

/** A piece of a line: its text, and how it looks. The width of a line is that of its texts. */
export interface Span {
  readonly text: string
  readonly look?: 'bold' | 'dim' | 'good' | 'bad' | 'warn' | 'head'
}

export type Line = readonly Span[]

const CODES = { bold: '1', dim: '2', good: '32', bad: '31', warn: '33', head: '1;36' } as const
const CONTROL = /\p{Cc}/gu

/** A line for a terminal, cut to a width; control characters in its texts are made harmless. */
export function paint(line: Line, width: number): string {
  let left = width
  let painted = ''
  for (const { text, look } of line) {
    const shown = cut(text.replace(CONTROL, '?'), left)
    left -= shown.length
    painted += look === undefined ? shown : `\u001b[${CODES[look]}m${shown}\u001b[0m`
    if (left <= 0) break
  }
  return painted
}

/** Text padded with blanks, or cut, to exactly a width, plus one blank. */
export function cell(text: string, width: number): string {
  return `${cut(text, width).padEnd(width)} `
}

function cut(text: string, width: number): string {
  if (text.length <= width) return text
  return width <= 1 ? text.slice(0, Math.max(0, width)) : `${text.slice(0, width - 1)}…`
}
