import { type Json, type JsonObject, valueAt } from '../../lib/json.ts'

/** As whom a container runs; undefined: as the node agent does. */
export interface UserPlan {
  readonly uid: number | undefined
  readonly gid: number | undefined
}

const LARGEST_ID = 2 ** 31 - 1

/** The container's own `securityContext`, or the Pod's. */
export function readUser(container: Json, spec: JsonObject, faults: string[]): UserPlan {
  const read = (key: string): Json | undefined =>
    valueAt(container, 'securityContext', key) ?? valueAt(spec, 'securityContext', key)
  const id = (key: string): number | undefined => {
    const value = read(key)
    if (value === undefined) return undefined
    const isId = typeof value === 'number' && Number.isInteger(value)
    if (isId && value >= 0 && value <= LARGEST_ID) return value
    faults.push(`securityContext.${key} must be a user or group id`)
    return undefined
  }
  const [uid, gid] = [id('runAsUser'), id('runAsGroup')]
  if (read('runAsNonRoot') === true && (uid ?? 0) === 0) {
    faults.push('securityContext.runAsNonRoot: set runAsUser to another user than 0')
  }
  return { uid, gid }
}
