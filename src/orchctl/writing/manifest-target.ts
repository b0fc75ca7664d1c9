import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { positionText } from '../../lib/yaml.ts'
import { type Manifest, manifestError } from '../../manifests/manifests.ts'
import { type ApiResource, collectionPath, objectPath } from '../discovery/api-resource.ts'
import type { Catalogue } from '../discovery/catalogue.ts'
import { type CallFailure, failureError } from '../session/call-failure.ts'
import type { CommandContext } from '../session/command-module.ts'
import type { Session } from '../session/open-session.ts'
import { type ExitCode, exitCodeOf } from '../usage/exit-code.ts'

/** Where the object of a manifest belongs. */
export interface ManifestTarget {
  readonly resource: ApiResource
  /** With its namespace. */
  readonly object: JsonObject
  readonly name: string
  readonly namespace: string | undefined
  readonly collection: string
  /** The path of the object, if it has a name. */
  readonly path: string
}

/** @throws NP_MANIFESTS_INVALID, NP_ORCHCTL_NO_RESOURCE */
export async function manifestTarget(
  manifest: Manifest,
  catalogue: Catalogue,
  session: Session,
): Promise<ManifestTarget> {
  const { object } = manifest
  const [apiVersion, kind] = [stringAt(object, 'apiVersion'), stringAt(object, 'kind')]
  const resource = await catalogue.ofKind(apiVersion, kind)
  const name = stringAt(object, 'metadata', 'name')
  const own = stringAt(object, 'metadata', 'namespace')
  if (resource.namespaced && own !== '' && session.isNamespaceGiven && own !== session.namespace) {
    const message = `the namespace ${quote(own)} is not that of --namespace, ${quote(session.namespace)}`
    throw manifestError(manifest.position('metadata.namespace'), message)
  }
  const namespace = resource.namespaced ? own || session.namespace : undefined
  const metadata = {
    ...objectAt(object, 'metadata'),
    ...(namespace !== undefined && { namespace }),
  }
  return {
    resource,
    name,
    namespace,
    object: { ...object, metadata },
    collection: collectionPath(resource, namespace),
    path: objectPath(resource, namespace, name),
  }
}

/** Does something with one manifest. @returns the errors; empty: it succeeded */
export type ManifestAction = (manifest: Manifest) => Promise<readonly NodeProxyError[]>

/**
 * Handles the manifests one by one; one that fails is reported and does not stop the others, unless the server cannot
 * be reached.
 */
export async function eachManifest(
  manifests: readonly Manifest[],
  context: CommandContext,
  action: ManifestAction,
): Promise<ExitCode> {
  let code: ExitCode = 0
  for (const manifest of manifests) {
    const errors = await action(manifest).catch((error: unknown) => [expected(error)])
    for (const error of errors) {
      context.report(error)
      code = exitCodeOf(error)
    }
    if (code === 3) return code
  }
  return code
}

function expected(error: unknown): NodeProxyError {
  if (error instanceof NodeProxyError) return error
  throw error
}

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
