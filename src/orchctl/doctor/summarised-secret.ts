import { type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { LAST_APPLIED } from '../../resources/label-names.ts'

/** A Secret without its values: which keys have one, and for which registries it has credentials. */
export function summarisedSecret(secret: JsonObject): JsonObject {
  const { apiVersion = '', kind = '', metadata = {}, type = '', immutable = false } = secret
  const filled = Object.entries(objectAt(secret, 'data')).filter(([, value]) => value !== '')
  const registries = registriesOf(secret)
  return {
    ...{ apiVersion, kind, type, immutable, metadata: withoutApplied(metadata) },
    data: Object.fromEntries(filled.map(([key]) => [key, ''])),
    ...(registries !== undefined && { registries: [...registries] }),
  }
}

/** `kubectl apply` writes the values into an annotation. */
function withoutApplied(metadata: Json): JsonObject {
  const annotations = Object.entries(objectAt(metadata, 'annotations')).filter(
    ([key]) => key !== LAST_APPLIED,
  )
  return { ...objectAt({ metadata }, 'metadata'), annotations: Object.fromEntries(annotations) }
}

/** Undefined: it has no configuration of registries that can be read. */
function registriesOf(secret: JsonObject): readonly string[] | undefined {
  const [current, old] = ['.dockerconfigjson', '.dockercfg'].map((key) =>
    parsed(stringAt(secret, 'data', key)),
  )
  const auths = valueAt(current, 'auths') ?? old
  return auths === undefined ? undefined : Object.keys(objectAt({ auths }, 'auths'))
}

function parsed(base64: string): Json | undefined {
  try {
    return base64 === ''
      ? undefined
      : (JSON.parse(Buffer.from(base64, 'base64').toString('utf8')) as Json)
  } catch {
    return undefined
  }
}
