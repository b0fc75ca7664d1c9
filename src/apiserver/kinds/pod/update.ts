import { NAMES } from '../../../resources/names.ts'
import { isRaw, own, type Raw } from '../../../resources/raw.ts'
import type { Reader } from '../../../resources/reader.ts'
import { isSameValue } from '../../../resources/same-value.ts'
import { checkUnchanged } from '../shared/immutable.ts'
import { defaultPodSpec } from '../shared/pod-spec/defaults.ts'

const CHANGEABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
]
const FIXED = {
  forbidden: `pod updates may not change fields other than ${CHANGEABLE.join(',')}`,
}

/**
 * A Pod runs what it was created with, and stays a mirror or none; a node is chosen once. What is
 * filled in today and was not when the Pod was stored is no change.
 */
export function checkPodUpdate(next: Reader, old: Reader): void {
  const annotationsOf = (pod: Reader): Reader => pod.object('metadata').map('annotations')
  for (const name of NAMES.mirror) checkUnchanged(annotationsOf(next), annotationsOf(old), name)
  checkSpecUpdate(next, old)
}

function checkSpecUpdate(next: Reader, old: Reader): void {
  const [after, before] = [next.value('spec'), old.value('spec')]
  if (!isRaw(after) || !isRaw(before) || isSameValue(after, before)) return
  const isBound = (own(before, 'nodeName') ?? '') !== ''
  const [then, now] = [before, after].map((spec) => fixedPart(defaultPodSpec(spec), isBound))
  if (!isSameValue(now, then)) {
    next.withhold('spec', FIXED)
  }
}

function fixedPart(spec: Raw, isBound: boolean): Raw {
  const changeable = ['activeDeadlineSeconds', 'tolerations', ...(isBound ? [] : ['nodeName'])]
  const kept = Object.entries(spec).filter(([key]) => !changeable.includes(key))
  return Object.fromEntries(
    kept.map(([key, value]) => [
      key,
      /^(?:initC|c)ontainers$/.test(key) ? imageless(value) : value,
    ]),
  )
}

function imageless(containers: unknown): unknown {
  if (!Array.isArray(containers)) return containers
  return containers.map((one: unknown) => (isRaw(one) ? { ...one, image: '' } : one))
}
