import { curlOf } from '../environment/by-hand.ts'
import type { Reply } from '../environment/request.ts'
import { countPods } from './expectation.ts'
import type { Step } from './step.ts'

/** A step that was taken. */
export interface Outcome {
  readonly step: Step
  readonly replies: readonly Reply[]
  readonly problems: readonly string[]
  /** The daemon's last words; shown when something is wrong. */
  readonly log: readonly string[]
}

/** A step as the reader sees it; `serial` counts from 1. */
export function stepText(run: string, serial: number, outcome: Outcome): string {
  const { step, replies, problems, log } = outcome
  const { title, action, request, times } = step
  const again = times === 1 ? '' : `   # ${Math.max(times, replies.length)} times`
  return [
    `${String(serial).padStart(2)}. ${title}`,
    ...(action === undefined ? [] : [`    # ${action.says}`]),
    `    $ ${curlOf(run, request)}${again}`,
    `    ${summary(replies)}`,
    ...(problems.length === 0 ? ['    ok'] : wrong(problems, log)),
    '',
  ].join('\n')
}

function wrong(problems: readonly string[], log: readonly string[]): readonly string[] {
  return [
    ...problems.map((problem) => `    WRONG: ${problem}`),
    ...log.map((line) => `      node-proxy: ${line}`),
  ]
}

/** `40 answered: pod-1 13, pod-2 14, pod-3 13; source seen: 10.244.0.1`. */
export function summary(replies: readonly Reply[]): string {
  const parts = (['answered', 'refused', 'silent', 'failed'] as const)
    .map((kind) => [kind, replies.filter((reply) => reply.kind === kind).length] as const)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}${kind === 'answered' ? `: ${whoOf(replies)}` : ''}`)
  return parts.join('; ')
}

function whoOf(replies: readonly Reply[]): string {
  const pods = [...countPods(replies)].map(([pod, count]) => `${pod} ${count}`)
  const seen = new Set(replies.flatMap((reply) => (reply.kind === 'answered' ? [reply.saw] : [])))
  return `${pods.join(', ')}; source seen: ${[...seen].toSorted().join(', ')}`
}
