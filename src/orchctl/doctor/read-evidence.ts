import {
  ClusterEvidence,
  type EvidenceKind,
  type ServerFacts,
} from '../../doctor/evidence/cluster-evidence.ts'
import {
  type Json,
  type JsonObject,
  objectAt,
  parseJson,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { LAST_APPLIED } from '../../resources/label-names.ts'
import { type ApiResource, collectionPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import type { CallResult } from '../session/api.ts'
import type { CommandContext } from '../session/command-module.ts'
import { listPages, objectsOf, PAGE_SIZE } from '../session/list-pages.ts'

/** The kinds that are read, with their names in the server's catalogue. */
const KINDS: Readonly<Record<EvidenceKind, string>> = {
  services: 'services',
  endpointslices: 'endpointslices.discovery.k8s.io',
  pods: 'pods',
  events: 'events',
  serviceaccounts: 'serviceaccounts',
  secrets: 'secrets',
  roles: 'roles.rbac.authorization.k8s.io',
  clusterroles: 'clusterroles.rbac.authorization.k8s.io',
  rolebindings: 'rolebindings.rbac.authorization.k8s.io',
  clusterrolebindings: 'clusterrolebindings.rbac.authorization.k8s.io',
  nodes: 'nodes',
  networkpolicies: 'networkpolicies.networking.k8s.io',
  clusternetworkpolicies: 'clusternetworkpolicies.v1alpha2.policy.networking.k8s.io',
  namespaces: 'namespaces',
  deployments: 'deployments.apps',
  statefulsets: 'statefulsets.apps',
}

/** Kinds that a server need not have, so their absence is not reported. */
const OPTIONAL: ReadonlySet<EvidenceKind> = new Set(['statefulsets', 'clusternetworkpolicies'])

/** The objects that the user may read, and the kinds that could not be read. */
export interface ReadEvidence {
  readonly evidence: ClusterEvidence
  /** Kinds that could not be read, with the reason of the server. */
  readonly unread: ReadonlyMap<EvidenceKind, string>
  /** Whether the server did not accept the credential of the user (401). */
  readonly isUnauthorized: boolean
}

/** Reads the objects of a namespace (undefined: all) that checks need. Values of Secrets are discarded at once. */
export async function readEvidence(
  namespace: string | undefined,
  context: CommandContext,
): Promise<ReadEvidence> {
  const catalogue = await openCatalogue(context)
  const { api } = await context.session()
  const objects: Partial<Record<EvidenceKind, readonly JsonObject[]>> = {}
  const unread = new Map<EvidenceKind, string>()
  const read = async ([kind, word]: readonly [EvidenceKind, string]): Promise<void> => {
    const resource = await catalogue.named(word).catch(() => undefined)
    if (resource === undefined) {
      if (!OPTIONAL.has(kind)) unread.set(kind, 'the server does not serve it')
      return
    }
    const result = await listPages(api, { path: pathOf(resource, namespace) }, PAGE_SIZE)
    if (!result.ok) return void unread.set(kind, result.failure.message)
    const found = result.pages.flatMap(objectsOf)
    objects[kind] = kind === 'secrets' ? found.map(summarisedSecret) : found
  }
  const reads = (Object.entries(KINDS) as [EvidenceKind, string][]).map(read)
  const [configuration] = await Promise.all([openidConfiguration(context), ...reads])
  const server = configuration.ok ? serverFacts(configuration.value.body) : undefined
  const more = { ...(server && { server }), ...(namespace && { namespace }) }
  const isUnauthorized = !configuration.ok && configuration.failure.code === 401
  return { evidence: new ClusterEvidence(objects, more), unread, isUnauthorized }
}

function pathOf(resource: ApiResource, namespace: string | undefined): string {
  return collectionPath(resource, resource.namespaced ? namespace : undefined)
}

/** The OpenID configuration. An authenticated user gets it or 403, never 401. */
async function openidConfiguration(context: CommandContext): Promise<CallResult> {
  const { api } = await context.session()
  return await api.request({ path: '/.well-known/openid-configuration' })
}

/**
 * The issuer of the server, which is also the audience of tokens of accounts; undefined: the server does not publish
 * it.
 */
function serverFacts(configuration: JsonObject): ServerFacts | undefined {
  const issuer = stringAt(configuration, 'issuer')
  return issuer === '' ? undefined : { issuer, audiences: [issuer] }
}

/** A Secret without its values: only which keys have one, and for which registries it has credentials. */
export function summarisedSecret(secret: JsonObject): JsonObject {
  const { apiVersion = '', kind = '', metadata = {}, type = '', immutable = false } = secret
  const filled = Object.entries(objectAt(secret, 'data')).filter(([, value]) => value !== '')
  const registries = registriesOf(secret)
  return {
    apiVersion,
    kind,
    type,
    immutable,
    metadata: withoutApplied(metadata),
    data: Object.fromEntries(filled.map(([key]) => [key, ''])),
    ...(registries !== undefined && { registries: [...registries] }),
  }
}

/** The metadata without the annotation into which `kubectl apply` writes the values. */
function withoutApplied(metadata: Json): JsonObject {
  const annotations = Object.entries(objectAt(metadata, 'annotations')).filter(
    ([key]) => key !== LAST_APPLIED,
  )
  return { ...objectAt(metadata), annotations: Object.fromEntries(annotations) }
}

/** Undefined: the Secret has no configuration of registries that can be parsed. */
function registriesOf(secret: JsonObject): readonly string[] | undefined {
  const [current, old] = ['.dockerconfigjson', '.dockercfg'].map((key) =>
    parseJson(Buffer.from(stringAt(secret, 'data', key), 'base64').toString('utf8')),
  )
  const auths = valueAt(current, 'auths') ?? old
  return auths === undefined ? undefined : Object.keys(objectAt(auths))
}
