import { DEFAULT_ACCOUNT } from '../resources/names.ts'
import type { View } from './cache/object-cache.ts'
import type { Controller, Reconciliation } from './runner/controller.ts'
import { SETTLED } from './runner/controller.ts'

/**
 * Creates the account `default` in every namespace that is not being deleted, and again when it was deleted. An
 * existing account is left unchanged. A key is the name of a namespace.
 */
export const serviceAccountsController: Controller = {
  name: 'serviceaccounts',
  account: 'service-account-controller',
  watches: {
    namespaces: ({ key }) => [key],
    serviceaccounts: ({ before, after }) => {
      const isLost = before?.meta.name === DEFAULT_ACCOUNT && after === undefined
      return isLost ? [before.meta.namespace] : []
    },
  },
  reconcile,
}

function reconcile(namespace: string, view: View): Reconciliation {
  const isActive = view.namespaces.get(namespace)?.meta.terminating === false
  const account = view.serviceaccounts.get(`${namespace}/${DEFAULT_ACCOUNT}`)
  if (!isActive || account !== undefined) return SETTLED
  const body = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: DEFAULT_ACCOUNT, namespace },
    automountServiceAccountToken: true,
  }
  const name = DEFAULT_ACCOUNT
  return {
    writes: [{ verb: 'create', collection: 'serviceaccounts', namespace, name, body }],
  }
}
