import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../../lib/json.ts'
import { NAMES } from '../../../../resources/names.ts'
import { secretReferences } from './secret-references.ts'

/** Whether a Pod only shows one that its node runs from a file: no server decides what that contains. */
export function isMirror(pod: JsonObject): boolean {
  const annotations = objectAt(pod, 'metadata', 'annotations')
  return NAMES.mirror.some((name) => valueAt(annotations, name) !== undefined)
}

/** Why a mirror Pod may not exist; undefined: it may. Its node runs it without any server’s consent, so it gets nothing from one. */
export function mirrorFault(spec: JsonObject): string | undefined {
  const account = stringAt(spec, 'serviceAccountName') || stringAt(spec, 'serviceAccount')
  if (account !== '') return 'a mirror pod may not reference service accounts'
  const usesSecret =
    !secretReferences(spec).next().done || arrayAt(spec, 'imagePullSecrets').length > 0
  if (usesSecret) return 'a mirror pod may not reference secrets'
  const hasToken = arrayAt(spec, 'volumes').some((volume) =>
    arrayAt(volume, 'projected', 'sources').some(
      (source) => valueAt(source, 'serviceAccountToken') !== undefined,
    ),
  )
  return hasToken ? 'a mirror pod may not use ServiceAccountToken volume projections' : undefined
}
