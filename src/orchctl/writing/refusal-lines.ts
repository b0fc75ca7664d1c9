import { NodeProxyError } from '../../lib/error.ts'
import { positionText } from '../../lib/yaml.ts'
import type { Manifest } from '../../manifests/manifests.ts'
import { type CallFailure, failureError } from '../session/call-failure.ts'

/**
 * The errors for a manifest that the server refuses: one for each field that it names, with the line and column where the
 * field stands; otherwise one at the beginning of the object.
 */
export function manifestRefusal(
  failure: CallFailure,
  manifest: Manifest,
  hint?: string,
): readonly NodeProxyError[] {
  if (failure.code === 0) return [failureError(failure)]
  const fields = failure.reason === 'Conflict' ? [] : fieldsOf(failure)
  if (fields.length === 0) return [at(manifest, '', `${failure.reason}: ${failure.message}`, hint)]
  return fields.map(({ field, message }) => at(manifest, field, `${field}: ${message}`))
}

function at(manifest: Manifest, field: string, text: string, hint?: string): NodeProxyError {
  const place = positionText(manifest.position(field))
  return new NodeProxyError(
    'NP_CLIENT_REFUSED',
    `${place}: ${text}`,
    hint === undefined ? {} : { hint },
  )
}

interface FieldFailure {
  readonly field: string
  readonly message: string
}

/** The fields of the causes, else those that an error of strict decoding or of server-side apply names. */
function fieldsOf({ causes, message }: CallFailure): readonly FieldFailure[] {
  const named = causes.filter(({ field }) => field !== '' && field !== '<nil>')
  if (named.length > 0) return named
  const quoted = [...message.matchAll(/((?:unknown|duplicate) field) "([^"]+)"/gu)]
  const undeclared = [...message.matchAll(/\s\.(\S+): (field not declared in schema)/gu)]
  const elements = [...message.matchAll(/\s\.(\S+): element (\d+): (.+)$/gmu)]
  return [
    ...elements.map(([, list = '', index = '', what = '']) => ({
      field: `${list}[${index}]`,
      message: what,
    })),
    ...quoted.map(([, what = '', field = '']) => ({ field, message: what })),
    ...undeclared.map(([, field = '', what = '']) => ({ field, message: what })),
  ]
}
