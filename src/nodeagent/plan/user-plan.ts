import { arrayAt, type Json, type JsonObject, valueAt } from '../../lib/json.ts'

/** The user and group of a container; undefined: those of the node agent. */
export interface UserPlan {
  readonly uid: number | undefined
  readonly gid: number | undefined
  /** Supplementary groups: `fsGroup` and `supplementalGroups` of the Pod. */
  readonly groups: readonly number[]
}

const MAX_ID = 2 ** 31 - 1

/**
 * Reads `runAsUser`, `runAsGroup` and `runAsNonRoot`, each from the `securityContext` of the container, or else
 * of the Pod, and the groups of the Pod. Adds problems to `faults`.
 */
export function readUser(container: Json, spec: JsonObject, faults: string[]): UserPlan {
  const read = (key: string): Json | undefined =>
    valueAt(container, 'securityContext', key) ?? valueAt(spec, 'securityContext', key)
  const checked = (value: Json | undefined, key: string): number | undefined => {
    if (value === undefined || isId(value)) return value
    faults.push(`securityContext.${key} must be a user or group id`)
    return undefined
  }
  const id = (key: string): number | undefined => checked(read(key), key)
  const [uid, gid] = [id('runAsUser'), id('runAsGroup')]
  if (read('runAsNonRoot') === true && (uid ?? 0) === 0) {
    faults.push('securityContext.runAsNonRoot: set runAsUser to another user than 0')
  }
  const fsGroup = checked(valueAt(spec, 'securityContext', 'fsGroup'), 'fsGroup')
  const others = arrayAt(spec, 'securityContext', 'supplementalGroups').map((value) =>
    checked(value, 'supplementalGroups'),
  )
  const groups = [fsGroup, ...others].filter((group) => group !== undefined)
  return { uid, gid, groups: [...new Set(groups)] }
}

/** `fsGroup` of a Pod; an invalid one is a fault of its containers. */
export function readGroup(spec: JsonObject): number | undefined {
  const group = valueAt(spec, 'securityContext', 'fsGroup')
  return isId(group) ? group : undefined
}

function isId(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_ID
}
