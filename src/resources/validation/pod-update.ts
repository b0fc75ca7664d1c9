import { isRaw, own, type Raw } from '../raw.ts'
import type { Reader } from '../reader.ts'
import { isSameValue } from '../same-value.ts'

const FIXED =
  "pod updates may not change fields other than 'spec.containers[*].image', 'spec.initContainers[*].image', 'spec.activeDeadlineSeconds' and 'spec.tolerations'; delete the object and create it anew"

/** A Pod runs what it was created with; a node is chosen once. */
export function keepPod(next: Reader, old: Reader): void {
  const [after, before] = [next.value('spec'), old.value('spec')]
  if (!isRaw(after) || !isRaw(before)) return
  const isBound = (own(before, 'nodeName') ?? '') !== ''
  if (!isSameValue(fixedPart(after, isBound), fixedPart(before, isBound))) {
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
