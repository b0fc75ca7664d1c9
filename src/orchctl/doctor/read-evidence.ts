import {
  ClusterEvidence,
  type EvidenceKind,
  type ServerFacts,
} from '../../doctor/evidence/cluster-evidence.ts'
import { type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { LAST_APPLIED } from '../../resources/label-names.ts'
import type { CommandContext } from '../command/command-module.ts'
import { type ApiResource, collectionPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { listPages, objectsOf, PAGE_SIZE } from '../selection/list-pages.ts'
import type { CallResult } from '../session/api.ts'

/** What is read, and the word by which the server's catalogue knows it. */
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
  deployments: 'deployments.apps',
  statefulsets: 'statefulsets.apps',
}

/** Kinds that orch-server does not have; without them nothing is missing. */
const OPTIONAL: ReadonlySet<EvidenceKind> = new Set(['statefulsets'])

/** The objects that the user may read, and what he may not. */
export interface ReadEvidence {
  readonly evidence: ClusterEvidence
  /** Kinds that could not be read, with the reason of the server. */
  readonly unread: ReadonlyMap<EvidenceKind, string>
  /** Whether the server did not accept the credential of the user (401). */
  readonly isUnauthorized: boolean
}

/** Reads the objects of a namespace (undefined: of all) that checks need. Of Secrets the values are forgotten at once. */
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

/** Every user whom the server knows gets it, or 403. */
async function openidConfiguration(context: CommandContext): Promise<CallResult> {
  const { api } = await context.session()
  return await api.request({ path: '/.well-known/openid-configuration' })
}

/** The issuer of tokens, for which tokens of accounts are; undefined: the server does not say it. */
function serverFacts(configuration: JsonObject): ServerFacts | undefined {
  const issuer = stringAt(configuration, 'issuer')
  return issuer === '' ? undefined : { issuer, audiences: [issuer] }
}

/** A Secret without its values: which keys have one, and for which registries it has credentials. */
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
