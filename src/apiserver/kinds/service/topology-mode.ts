import { NAMES } from '../../../resources/names.ts'
import type { Reader } from '../../../resources/reader.ts'

const [ORCH_HINTS, HINTS, ORCH_MODE, MODE] = NAMES.topologyMode

/** The older annotation counts before the newer one, so the two must not differ, as in Kubernetes. */
export function checkTopologyMode(annotations: Reader): void {
  for (const [older, newer] of [
    [ORCH_HINTS, ORCH_MODE],
    [HINTS, MODE],
  ] as const) {
    const [value, other] = [annotations.value(older), annotations.value(newer)]
    const isBoth = value !== undefined && other !== undefined
    if (isBoth && value !== other) {
      annotations.refuse(older, `must be equal to the annotation ${newer} when both are present`)
    }
  }
}
