import type { NodePlan } from '../node-plan.ts'

/** A plan without any change. */
export const NOTHING: NodePlan = {
  mode: 'm',
  nodeName: 'node7',
  set: 0,
  unset: 0,
  services: [],
  shared: [],
  flowCount: 0,
  flows: [],
  cleanups: [],
  isolations: [],
  problems: [],
  notes: [],
  caveats: [],
}
