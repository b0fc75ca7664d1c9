import { arrayAt, type Json, stringAt, valueAt } from '../../lib/json.ts'
import { texts } from './aggregated.ts'
import type { ApiResource } from './api-resource.ts'

/** The groups and versions of `/api` and `/apis`, the preferred version of each group first. */
export function groupVersionsOf(core: Json, groups: Json): readonly string[] {
  const others = arrayAt(groups, 'groups').flatMap((group) => {
    const preferred = stringAt(group, 'preferredVersion', 'groupVersion')
    const all = arrayAt(group, 'versions').map((version) => stringAt(version, 'groupVersion'))
    return [...new Set([preferred, ...all])].filter((one) => one !== '')
  })
  return [...texts(core, 'versions'), ...others]
}

/** The path of the APIResourceList of a group and version. */
export function resourceListPath(groupVersion: string): string {
  return groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`
}

/** The resources of an APIResourceList. */
export function readResourceList(document: Json, groupVersion: string): readonly ApiResource[] {
  const [version = '', group = ''] = groupVersion.split('/').toReversed()
  const entries = arrayAt(document, 'resources')
  const named = (entry: Json): string => stringAt(entry, 'name')
  const subresourcesOf = (plural: string) =>
    entries
      .filter((entry) => named(entry).startsWith(`${plural}/`))
      .map((entry) => ({
        name: named(entry).slice(plural.length + 1),
        kind: stringAt(entry, 'kind'),
        verbs: texts(entry, 'verbs'),
      }))
  return entries
    .filter((entry) => !named(entry).includes('/'))
    .map((entry) => ({
      ...{ group, version },
      kind: stringAt(entry, 'kind'),
      plural: named(entry),
      singular: stringAt(entry, 'singularName') || stringAt(entry, 'kind').toLowerCase(),
      shortNames: texts(entry, 'shortNames'),
      namespaced: valueAt(entry, 'namespaced') === true,
      verbs: texts(entry, 'verbs'),
      categories: texts(entry, 'categories'),
      subresources: subresourcesOf(named(entry)),
    }))
}
