import type { ExplanationMessage, OutcomeMessage, StepMessage } from '../data/explanation.ts'
import { formatCount, formatShare, hostPort } from '../text/format.ts'

/** The packet as a sentence. */
export function packetWords(explanation: ExplanationMessage): string {
  const { src, dst, port, protocol, inInterface } = explanation
  const from = src ?? 'a process of this node'
  const by = inInterface === null ? '' : `, by ${inInterface}`
  return `${protocol} from ${from}${by}, to ${hostPort(dst, port)}`
}

/** What becomes of it: a heading, and what is to be known beside it. */
export function outcomeWords(outcome: OutcomeMessage): readonly [head: string, details: string] {
  const { kind, dst, src = '', to, outInterface, how = '', by = '', reason = '' } = outcome
  switch (kind) {
    case 'delivered': {
      const where = to === 'local' ? 'on this node' : `leaves by ${outInterface ?? 'a route'}`
      const ends = dst === undefined ? '' : hostPort(dst.ip, dst.port)
      return [ends, `sees ${src}, ${where}`]
    }
    case 'refused':
      return ['refused', how]
    case 'silent':
      return ['no answer', by]
    case 'uncertain':
      return ['not known', reason]
  }
}

/** An outcome as a sentence. */
export function outcomeSentence(outcome: OutcomeMessage): string {
  const [head, details] = outcomeWords(outcome)
  return `${formatShare(outcome.probability)}: ${head}${details === '' ? '' : `, ${details}`}`
}

/** A step in one line: the rule, and what it does where that does not say it already. */
export function stepWords({ object, text }: StepMessage): string {
  if (object === undefined) return text
  return ` ${object} `.includes(` ${text} `) ? object : `${object} → ${text}`
}

/** What the rule of a step has counted so far; empty: it counts nothing. */
export function counterWords({ counter }: StepMessage): string {
  return counter === undefined ? '' : `${formatCount(Number(counter.packets))} packets so far`
}
