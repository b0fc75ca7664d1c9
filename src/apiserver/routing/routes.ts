import createRouter from 'find-my-way'
import type { JsonObject } from '../../lib/json.ts'
import { OPENID_PATHS, type OpenidDocument } from '../authentication/openid-documents.ts'
import { discoveryDocuments } from '../discovery/discovery-documents.ts'
import { GIT_VERSION } from '../discovery/version.ts'
import type { HealthEndpoint } from '../health/health-checks.ts'
import { jsonForm, type ServedDocument } from '../negotiation/served-document.ts'
import { openapiDocuments } from '../openapi/openapi-documents.ts'
import { type ForwardedTarget, splitTarget } from '../request/forwarded-target.ts'
import { type Resource, servedVersionsOf } from '../resource/resource.ts'
import { type ResourceRoute, resourceRoutes } from './resource-routes.ts'

const GROUP_VERSION = 'apiextensions.k8s.io/v1'

/**
 * The path of the list of CustomResourceDefinitions. kubectl reads it before it reports that the kind of a manifest is
 * unknown. This server has no custom resources, so its discovery documents do not contain the path.
 */
const CUSTOM_RESOURCES_PATH = `/apis/${GROUP_VERSION}/customresourcedefinitions`

/** The handler of a path. */
export type Route =
  | { readonly kind: 'document'; readonly document: ServedDocument }
  | { readonly kind: 'health'; readonly endpoint: HealthEndpoint }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'openid'; readonly document: OpenidDocument }
  | { readonly kind: 'version' }
  | ResourceRoute

export interface FoundRoute {
  readonly route: Route
  readonly namespace: string
  readonly name: string
  /** The target that the request is forwarded to; undefined: it is answered here. */
  readonly forwarded: ForwardedTarget | undefined
}

/** The longest name that an object can have, with a scheme and a port where requests are forwarded: `https:NAME:10246`. */
const MAX_PARAMETER_LENGTH = 253 + 'https::65535'.length

const HEALTH = ['healthz', 'livez', 'readyz'] as const
const PLAIN = ['/metrics', '/version'] as const

/** Maps paths to routes. Methods are checked by the route. */
export function createRoutes(
  resources: readonly Resource[],
): (path: string) => FoundRoute | undefined {
  const router = createRouter({
    caseSensitive: true,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_PARAMETER_LENGTH,
  })
  const on = (path: string, route: Route): void => router.on('GET', path, () => undefined, route)
  for (const endpoint of HEALTH) {
    on(`/${endpoint}`, { kind: 'health', endpoint })
    on(`/${endpoint}/:name`, { kind: 'health', endpoint })
  }
  on('/metrics', { kind: 'metrics' })
  on('/version', { kind: 'version' })
  for (const [path, document] of Object.entries(OPENID_PATHS))
    on(path, { kind: 'openid', document })
  const described = documents(resources)
  for (const [path, document] of described) on(path, { kind: 'document', document })
  const paths = [
    ...HEALTH.map((endpoint) => `/${endpoint}`),
    ...PLAIN,
    ...Object.keys(OPENID_PATHS),
    ...described.keys(),
  ]
  on('/', { kind: 'document', document: pathsDocument(paths) })
  on(CUSTOM_RESOURCES_PATH, { kind: 'document', document: noCustomResources() })
  for (const served of resources.flatMap(servedVersionsOf)) {
    for (const [path, route] of resourceRoutes(served)) on(path, route)
  }
  return (path) => {
    const found = router.find('GET', path)
    if (found === null) return undefined
    const { namespace = '', name = '', '*': below = '' } = found.params
    const route = found.store as Route
    if (route.kind !== 'resource' || !route.isProxied) {
      return { route, namespace, name, forwarded: undefined }
    }
    const { name: plain, ...target } = splitTarget(name)
    return { route, namespace, name: plain, forwarded: { ...target, path: below } }
  }
}

/** The document of `/`: all paths that are not of resources, from which people find the rest. */
function pathsDocument(paths: readonly string[]): ServedDocument {
  return [jsonForm(() => ({ paths: paths.toSorted() }))]
}

function documents(resources: readonly Resource[]): ReadonlyMap<string, ServedDocument> {
  return new Map([...discoveryDocuments(resources), ...openapiDocuments(resources, GIT_VERSION)])
}

/** The answer at `CUSTOM_RESOURCES_PATH`: an empty list. */
function noCustomResources(): ServedDocument {
  const list: JsonObject = {
    kind: 'CustomResourceDefinitionList',
    apiVersion: GROUP_VERSION,
    metadata: { resourceVersion: '' },
    items: [],
  }
  return [jsonForm(() => list)]
}
