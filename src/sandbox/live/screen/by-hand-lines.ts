import { curlOf, enter, unlabelOf } from '../../environment/by-hand.ts'
import { REQUESTS } from '../../environment/requests.ts'
import type { Line } from './style.ts'
import type { View } from './view.ts'

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

/** A command on as many lines as its width needs, which a shell still takes as one. */
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
