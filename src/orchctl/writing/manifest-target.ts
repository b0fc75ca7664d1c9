import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { type Manifest, manifestError } from '../../manifests/manifests.ts'
import { type ApiResource, collectionPath, objectPath } from '../discovery/api-resource.ts'
import type { Catalogue } from '../discovery/catalogue.ts'
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
