import { expect, test } from 'vitest'
import type { ApiResource } from './api-resource.ts'
import { preferredResources } from './discover.ts'

function resource(group: string, version: string, plural: string): ApiResource {
  return {
    group,
    version,
    plural,
    kind: plural,
    singular: plural,
    shortNames: [],
    namespaced: true,
    verbs: [],
    categories: [],
    subresources: [],
  }
}

test('each resource once, in the version that comes first, by group and name', () => {
  const all = [
    resource('', 'v1', 'services'),
    resource('', 'v1', 'pods'),
    resource('batch', 'v1', 'jobs'),
    resource('batch', 'v1beta1', 'cronjobs'),
    resource('batch', 'v1beta1', 'jobs'),
    resource('apps', 'v1', 'deployments'),
  ]
  const shown = preferredResources(all).map(
    ({ group, version, plural }) => `${group} ${version} ${plural}`,
  )
  expect(shown).toEqual([
    ' v1 pods',
    ' v1 services',
    'apps v1 deployments',
    'batch v1beta1 cronjobs',
    'batch v1 jobs',
  ])
})
