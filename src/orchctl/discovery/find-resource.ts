import { nearest } from '../../lib/nearest.ts'
import { type ApiResource, qualifiedName } from './api-resource.ts'

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

/** The resources of a category (`all`), each once, those that can be listed. */
export function resourcesOfCategory(
  resources: readonly ApiResource[],
  category: string,
): readonly ApiResource[] {
  const found = resources.filter(
    ({ categories, verbs }) =>
      categories.includes(category.toLowerCase()) && verbs.includes('list'),
  )
  const first = new Map(found.toReversed().map((one) => [qualifiedName(one), one]))
  return found.filter((one) => first.get(qualifiedName(one)) === one)
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
