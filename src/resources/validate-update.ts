import { validate } from './decode.ts'
import type { Problem } from './problem.ts'
import type { Raw } from './raw.ts'
import { Reader } from './reader.ts'
import {
  keepBinding,
  keepData,
  keepSecret,
  keepSelector,
  keepSlice,
} from '../apiserver/kinds/shared/immutable.ts'
import { keepPod } from '../apiserver/kinds/pod/update.ts'
import { keepService } from '../apiserver/kinds/service/update.ts'

type Check = (next: Reader, old: Reader) => void

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['Service', keepService],
  ['Pod', keepPod],
  ['EndpointSlice', keepSlice],
  ['ConfigMap', keepData],
  ['Secret', keepSecret],
  ['RoleBinding', keepBinding],
  ['ClusterRoleBinding', keepBinding],
  ['Deployment', keepSelector],
])

/**
 * Why a stored object may not become another, each of them being valid: fields
 * that are fixed when the object is created.
 */
export function validateUpdate(kind: string, next: Raw, old: Raw): readonly Problem[] {
  const check = CHECKS.get(kind)
  if (check === undefined) return []
  return validate(next, (object) => check(object, Reader.of(old, 'validate')))
}
