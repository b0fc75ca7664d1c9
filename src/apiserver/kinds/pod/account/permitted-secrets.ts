import { arrayAt, type Json, type JsonObject, objectAt, stringAt } from '../../../../lib/json.ts'
import { quote } from '../../../../lib/quote.ts'
import { NAMES } from '../../../../resources/names.ts'
import { secretReferences } from './secret-references.ts'

/** What Go's ParseBool takes for false; and the empty text. */
const FALSE: readonly string[] = ['', '0', 'f', 'F', 'false', 'False', 'FALSE']

/**
 * Why a Pod may not use its Secrets under this account; undefined: it may. An account restricts its
 * Pods when an annotation of either brand says so: then they reach the Secrets that it lists, and no
 * others. A value that is no truth value restricts, too.
 */
export function forbiddenSecret(spec: JsonObject, account: JsonObject): string | undefined {
  if (!isRestricted(account)) return undefined
  const who = `service account ${stringAt(account, 'metadata', 'name')}`
  const permitted = namesIn(account, 'secrets')
  for (const { name, text } of secretReferences(spec)) {
    if (permitted.has(name)) continue
    return `${text} is not allowed because ${who} does not reference that secret`
  }
  const pullSecrets = namesIn(account, 'imagePullSecrets')
  for (const [index, secret] of arrayAt(spec, 'imagePullSecrets').entries()) {
    const name = stringAt(secret, 'name')
    if (pullSecrets.has(name)) continue
    return `imagePullSecrets[${index}].name=${quote(name)} is not allowed because ${who} does not reference that imagePullSecret`
  }
  return undefined
}

function isRestricted(account: JsonObject): boolean {
  const annotations = objectAt(account, 'metadata', 'annotations')
  return NAMES.enforceMountableSecrets.some((name) => !FALSE.includes(stringAt(annotations, name)))
}

function namesIn(account: Json, field: string): ReadonlySet<string> {
  const names = arrayAt(account, field).map((one) => stringAt(one, 'name'))
  return new Set(names.filter((name) => name !== ''))
}
