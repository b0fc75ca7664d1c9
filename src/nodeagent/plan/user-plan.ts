import { type Json, type JsonObject, valueAt } from '../../lib/json.ts'

/** The user and group of a container; undefined: those of the node agent. */
export interface UserPlan {
  readonly uid: number | undefined
  readonly gid: number | undefined
}

const MAX_ID = 2 ** 31 - 1

/**
 * Reads `runAsUser`, `runAsGroup` and `runAsNonRoot`, each from the `securityContext` of the container, or else of the
 * Pod. Adds what is wrong to `faults`.
 */
export function readUser(container: Json, spec: JsonObject, faults: string[]): UserPlan {
  const read = (key: string): Json | undefined =>
    valueAt(container, 'securityContext', key) ?? valueAt(spec, 'securityContext', key)
  const id = (key: string): number | undefined => {
    const value = read(key)
    if (value === undefined) return undefined
    const isId = typeof value === 'number' && Number.isInteger(value)
    if (isId && value >= 0 && value <= MAX_ID) return value
    faults.push(`securityContext.${key} must be a user or group id`)
    return undefined
  }
  const [uid, gid] = [id('runAsUser'), id('runAsGroup')]
  if (read('runAsNonRoot') === true && (uid ?? 0) === 0) {
    faults.push('securityContext.runAsNonRoot: set runAsUser to another user than 0')
  }
  return { uid, gid }
}
