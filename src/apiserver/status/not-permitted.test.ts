import { expect, test } from 'vitest'
import { notPermitted } from './not-permitted.ts'

const ANN = { name: 'ann', groups: [] }
const LIST = {
  verb: 'list',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: 'shop',
  name: '',
}

test.each([
  [
    LIST,
    'pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "shop"',
  ],
  [
    { ...LIST, namespace: '' },
    'pods is forbidden: User "ann" cannot list resource "pods" in API group "" at the cluster scope',
  ],
  [
    {
      ...LIST,
      verb: 'get',
      group: 'apps',
      resource: 'deployments',
      subresource: 'scale',
      name: 'web',
    },
    'deployments.apps "web" is forbidden: User "ann" cannot get resource "deployments/scale" in API group "apps" in the namespace "shop"',
  ],
  [{ verb: 'get', path: '/metrics' }, 'forbidden: User "ann" cannot get path "/metrics"'],
])('%o is answered as Kubernetes does', (action, message) => {
  expect(notPermitted(ANN, action, '').status).toMatchObject({
    code: 403,
    reason: 'Forbidden',
    message,
  })
  expect(notPermitted(ANN, action, 'RBAC: x').status.message).toBe(`${message}: RBAC: x`)
})

test('a user name cannot end its line or its quotes', () => {
  const { message } = notPermitted({ name: 'a"\n\u001b[2J', groups: [] }, LIST, '').status
  expect(message).toContain('User "a\\"\\n\\u001b[2J" cannot')
})
