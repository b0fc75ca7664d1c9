import type { Raw } from '../../../resources/raw.ts'
import { change } from '../shared/edit.ts'
import { defaultPodSpec } from '../shared/pod-spec/defaults.ts'

export function defaultPod(pod: Raw): Raw {
  return change(pod, 'spec', defaultPodSpec)
}
