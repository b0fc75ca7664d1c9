import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../command/command-module.ts'
import type { ApiResource } from './api-resource.ts'
import { discover } from './discover.ts'
import { readDiscoveryCache, writeDiscoveryCache } from './discovery-cache.ts'
import {
  findResource,
  nearestResource,
  resourceOfKind,
  resourcesOfCategory,
} from './find-resource.ts'

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
  let isFresh = false

  async function refresh(): Promise<readonly ApiResource[]> {
    known = await discover(api)
    isFresh = true
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
    const resources = isFresh && known !== undefined ? known : await refresh()
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
