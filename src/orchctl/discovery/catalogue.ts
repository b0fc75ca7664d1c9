import { NodeProxyError } from '../../lib/error.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../session/command-module.ts'
import { type ApiResource, qualifiedName } from './api-resource.ts'
import { discover } from './discover.ts'
import { readDiscoveryCache, writeDiscoveryCache } from './discovery-cache.ts'

/** The resources of the server, from the cache if that has what is wanted. */
export interface Catalogue {
  /** All resources; from the server if the cache is empty. */
  all(): Promise<readonly ApiResource[]>
  /** The resource of a word of the command line. @throws NP_ORCHCTL_NO_RESOURCE */
  named(word: string): Promise<ApiResource>
  /** The resources of a word that may be a category. @throws NP_ORCHCTL_NO_RESOURCE */
  several(word: string): Promise<readonly ApiResource[]>
  /** The resource for objects of a kind. @throws NP_ORCHCTL_NO_RESOURCE */
  ofKind(groupVersion: string, kind: string): Promise<ApiResource>
}

/** The catalogue of the server of a command. */
export async function openCatalogue(context: CommandContext): Promise<Catalogue> {
  const { api, serverKey } = await context.session()
  const options = { env: context.host.env, serverKey }
  let known = await readDiscoveryCache(options, Date.now())
  let discovering: Promise<readonly ApiResource[]> | undefined

  /** What the server has now. It is discovered once, however many words wait for it. */
  function refresh(): Promise<readonly ApiResource[]> {
    discovering ??= discovered()
    return discovering
  }

  async function discovered(): Promise<readonly ApiResource[]> {
    known = await discover(api)
    await writeDiscoveryCache(options, known, Date.now())
    return known
  }

  /** Finds something in the known resources, or else in those that the server has now. */
  async function find<T>(
    search: (resources: readonly ApiResource[]) => T | undefined,
    missing: (resources: readonly ApiResource[]) => NodeProxyError,
  ): Promise<T> {
    const cached = known === undefined ? undefined : search(known)
    if (cached !== undefined) return cached
    const resources = await refresh()
    const found = search(resources)
    if (found === undefined) throw missing(resources)
    return found
  }

  return {
    all: async () => known ?? (await refresh()),
    named: (word) =>
      find(
        (all) => findResource(all, word),
        (all) => noResource(all, word),
      ),
    several: (word) =>
      find(
        (all) => {
          const one = findResource(all, word)
          const many = one === undefined ? resourcesOfCategory(all, word) : [one]
          return many.length === 0 ? undefined : many
        },
        (all) => noResource(all, word),
      ),
    ofKind: (groupVersion, kind) =>
      find(
        (all) => resourceOfKind(all, groupVersion, kind),
        () => noKind(groupVersion, kind),
      ),
  }
}

function noResource(resources: readonly ApiResource[], word: string): NodeProxyError {
  const meant = nearestResource(resources, word)
  return new NodeProxyError('NP_ORCHCTL_NO_RESOURCE', `the server has no resource ${quote(word)}`, {
    hint: meant === undefined ? 'orchctl api-resources lists all' : `did you mean ${meant}?`,
  })
}

function noKind(groupVersion: string, kind: string): NodeProxyError {
  const message = `the server has no kind ${quote(kind)} in apiVersion ${quote(groupVersion)}`
  return new NodeProxyError('NP_ORCHCTL_NO_RESOURCE', message, {
    hint: 'check apiVersion and kind: orchctl api-resources lists all',
  })
}

/**
 * The resource that a word names: plural, singular, kind or short name in any case, also with its group
 * (`deployments.apps`) or version and group (`deployments.v1.apps`). Of several, the first that the server lists.
 */
export function findResource(
  resources: readonly ApiResource[],
  word: string,
): ApiResource | undefined {
  const [name = '', ...rest] = word.toLowerCase().split('.')
  const suffix = rest.join('.')
  const named = resources.filter((resource) => namesOf(resource).includes(name))
  if (suffix === '') return named[0]
  return (
    named.find(({ group }) => group === suffix) ??
    named.find(({ group, version }) => [version, group].filter(Boolean).join('.') === suffix) ??
    named.find(({ group }) => group.startsWith(`${suffix}.`))
  )
}

/** The resources of a category (`all`) that can be listed, each in the first version that the server lists. */
export function resourcesOfCategory(
  resources: readonly ApiResource[],
  category: string,
): readonly ApiResource[] {
  const found = resources.filter(
    ({ categories, verbs }) =>
      categories.includes(category.toLowerCase()) && verbs.includes('list'),
  )
  return [...Map.groupBy(found, qualifiedName).values()].flatMap((versions) => versions.slice(0, 1))
}

/** The resource that holds objects of a kind. */
export function resourceOfKind(
  resources: readonly ApiResource[],
  groupVersion: string,
  kind: string,
): ApiResource | undefined {
  const [version = '', group = ''] = groupVersion.split('/').toReversed()
  return resources.find(
    (one) => one.kind === kind && one.group === group && one.version === version,
  )
}

/** The resource name most similar to a word that names no resource. */
export function nearestResource(
  resources: readonly ApiResource[],
  word: string,
): string | undefined {
  const names = resources.flatMap((one) => [one.plural, one.singular, ...one.shortNames])
  return nearest(word, names)
}

function namesOf({ plural, singular, kind, shortNames }: ApiResource): readonly string[] {
  return [plural, singular, kind.toLowerCase(), ...shortNames]
}

/**
 * The resource of a word in a question about permissions. A word that names no resource of the server is one by itself,
 * with a warning, because roles may name it.
 */
export async function resourceOf(
  type: string,
  context: CommandContext,
): Promise<Pick<ApiResource, 'group' | 'plural' | 'namespaced'>> {
  if (type === '*') return { group: '*', plural: '*', namespaced: true }
  const catalogue = await openCatalogue(context)
  const found = findResource(await catalogue.all(), type)
  if (found === undefined) {
    context.notice(`Warning: the server doesn't have a resource type ${quote(type)}`)
    const [plural = '', ...group] = type.split('.')
    return { group: group.join('.'), plural, namespaced: true }
  }
  if (!found.namespaced) {
    const group = found.group === '' ? '' : ` in group ${quote(found.group)}`
    context.notice(`Warning: resource '${found.plural}' is not namespace scoped${group}`)
  }
  return found
}
