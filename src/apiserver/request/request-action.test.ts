import { expect, test } from 'vitest'
import { catalogue } from '../kinds/catalogue.ts'
import { namespaces } from '../kinds/namespace.ts'
import { roleBindings } from '../kinds/role-binding.ts'
import { services } from '../kinds/service/resource.ts'
import { servedVersionsOf } from '../resource/resource.ts'
import { type RequestedResource, resourceAction } from './request-action.ts'

const [served] = servedVersionsOf(services)
const REQUEST: RequestedResource = {
  method: 'GET',
  served: served!,
  subresource: '',
  namespace: 'shop',
  name: '',
  isWatch: false,
  query: new URLSearchParams(),
}

test.each<[Partial<RequestedResource>, string, string, string]>([
  [{}, '', 'list', ''],
  [{}, 'watch=1', 'watch', ''],
  [{}, 'watch=0', 'list', ''],
  [{ isWatch: true }, '', 'watch', ''],
  [{ isWatch: true, name: 'web' }, '', 'watch', 'web'],
  [{ name: 'web' }, '', 'get', 'web'],
  [{ name: 'web' }, 'watch=1', 'get', 'web'],
  [{ method: 'HEAD', name: 'web' }, '', 'head', 'web'],
  [{ method: 'POST' }, '', 'create', ''],
  [{ method: 'PUT', name: 'web' }, '', 'update', 'web'],
  [{ method: 'PATCH', name: 'web' }, '', 'patch', 'web'],
  [{ method: 'DELETE', name: 'web' }, '', 'delete', 'web'],
  [{ method: 'DELETE' }, '', 'deletecollection', ''],
  [{ method: 'DELETE' }, 'fieldSelector=metadata.name%3Dweb', 'deletecollection', ''],
  [{}, 'fieldSelector=metadata.name%3Dweb', 'list', 'web'],
  [{}, 'fieldSelector=metadata.name%3D%3Dweb', 'list', 'web'],
  [{}, 'fieldSelector=metadata.namespace%3Dx%2Cmetadata.name%3Dweb&watch=1', 'watch', 'web'],
  [{}, 'fieldSelector=metadata.name%21%3Dweb', 'list', ''],
  [{}, 'fieldSelector=metadata.name%3Da%5C%2Cb', 'list', 'a,b'],
  [{}, 'fieldSelector=spec.name%3Dweb', 'list', ''],
])('%o with ?%s is %s of %j', (parts, query, verb, name) => {
  const action = resourceAction({ ...REQUEST, ...parts, query: new URLSearchParams(query) })
  expect([action.verb, action.name]).toEqual([verb, name])
})

test('a namespace is decided in itself, and all of them in the cluster', () => {
  const [namespace] = servedVersionsOf(namespaces)
  const request = { ...REQUEST, served: namespace!, namespace: '' }
  expect(resourceAction({ ...request, name: 'shop' }).namespace).toBe('shop')
  expect(resourceAction({ ...request, name: 'shop', subresource: 'status' }).namespace).toBe('shop')
  expect(resourceAction({ ...request, name: '' }).namespace).toBe('')
})

test('a group that has two names is decided under one', () => {
  const groups = servedVersionsOf(roleBindings).map((one) => {
    return resourceAction({ ...REQUEST, served: one }).group
  })
  expect(groups).toEqual(['rbac.authorization.k8s.io', 'rbac.authorization.k8s.io'])
})

test('every resource is decided under one group for each of its kinds, whatever its path calls it', () => {
  const canonical = catalogue.flatMap((resource) =>
    servedVersionsOf(resource)
      .filter(({ group }) => group.endsWith('.orch.io'))
      .map((one) => [one.group, resourceAction({ ...REQUEST, served: one }).group]),
  )
  expect(canonical.map(([, group]) => group)).toEqual(
    canonical.map(([group]) => group?.replace(/orch\.io$/u, 'k8s.io')),
  )
})
