import type { Lab } from '../lab/lab.ts'
import type { LabConfig } from './lab-flow.ts'
import { type Memory, newMemory, setUp, takeStep } from './replay.ts'

/** One configuration of the flow file, walked step by step in a lab. */
export interface FlowSequence {
  readonly memory: Memory
  /** Brings the cluster to the state of step `index`, which must not be an earlier one. */
  reach(index: number): Promise<void>
}

export function createFlowSequence(lab: () => Lab, config: LabConfig): FlowSequence {
  const memory = newMemory()
  const progress = { reached: -1 }
  return {
    memory,
    async reach(index) {
      while (progress.reached < index) {
        progress.reached++
        const step = config.steps[progress.reached]
        if (progress.reached === 0) await setUp(lab(), config)
        if (step !== undefined) await takeStep(lab(), step, memory)
      }
    },
  }
}
