import type { OutcomeMessage, StepMessage } from '../data/explanation.ts'

/** Steps at one place: a hook of one table, a routing decision. */
export interface Stage {
  readonly where: string
  readonly steps: readonly StepMessage[]
}

/** What becomes of some of the packets, after what happens to all of them. */
export interface Branch {
  readonly stages: readonly Stage[]
  readonly outcome: OutcomeMessage
}

/** The way of the packets: what happens to all of them, and then to each part. */
export interface ExplainedWay {
  readonly trunk: readonly Stage[]
  readonly branches: readonly Branch[]
}

/** The way that the outcomes of one packet have in common, the likeliest outcome first. */
export function explainedWay(observed: readonly OutcomeMessage[]): ExplainedWay {
  const sorted = observed.toSorted((a, b) => b.probability - a.probability)
  const common = commonSteps(sorted.map(({ steps }) => steps))
  return {
    trunk: stagesOf(sorted[0]?.steps.slice(0, common) ?? []),
    branches: sorted.map((outcome) => ({ outcome, stages: stagesOf(outcome.steps.slice(common)) })),
  }
}

/** How many steps all of them begin with. */
function commonSteps(all: readonly (readonly StepMessage[])[]): number {
  const [first = [], ...others] = all
  const names = others.map((steps) => steps.map(nameOf))
  const end = first.findIndex((step, index) => names.some((one) => one[index] !== nameOf(step)))
  return end === -1 ? first.length : end
}

function nameOf({ where, object = '', text }: StepMessage): string {
  return [where, object, text].join('\n')
}

function stagesOf(steps: readonly StepMessage[]): readonly Stage[] {
  const stages: { where: string; steps: StepMessage[] }[] = []
  for (const step of steps) {
    const last = stages.at(-1)
    if (last?.where === step.where) last.steps.push(step)
    else stages.push({ where: step.where, steps: [step] })
  }
  return stages
}
