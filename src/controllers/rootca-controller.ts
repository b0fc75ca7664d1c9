import { CA_KEY, ROOT_CA_CONFIG_MAP } from '../resources/names.ts'
import type { View } from './cache/object-cache.ts'
import { isEmpty, replacementPatch } from './objects/object-meta.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import type { Write } from './runner/write.ts'

const COLLECTION = 'configmaps'

/**
 * Keeps the ConfigMap `kube-root-ca.crt` in every namespace that is not being deleted: its data is `ca.crt`,
 * the certificates (PEM) by which Pods verify the API server, and nothing else. A ConfigMap that was made
 * immutable with other data is deleted and created again. Without certificates the controller does nothing. A
 * key is the name of a namespace.
 */
export function createRootCaController(ca: string | undefined): Controller {
  return {
    name: 'rootca',
    account: 'root-ca-cert-publisher',
    watches:
      ca === undefined
        ? {}
        : {
            namespaces: ({ key }) => [key],
            configmaps: ({ before, after }) => {
              const meta = (after ?? before)?.meta
              return meta?.name === ROOT_CA_CONFIG_MAP ? [meta.namespace] : []
            },
          },
    reconcile: (key, view) => (ca === undefined ? SETTLED : reconcile(key, view, ca)),
  }
}

function reconcile(namespace: string, view: View, ca: string): Reconciliation {
  const isActive = view.namespaces.get(namespace)?.meta.terminating === false
  if (!isActive) return SETTLED
  const data = { [CA_KEY]: ca }
  const existing = view.configmaps.get(`${namespace}/${ROOT_CA_CONFIG_MAP}`)
  if (existing === undefined) return { writes: [creation(namespace, data)] }
  const { meta, isImmutable } = existing
  const changed = replacementPatch(existing.data, data)
  if (isEmpty(changed)) return SETTLED
  if (!isImmutable) {
    return { writes: [{ verb: 'patch', collection: COLLECTION, meta, body: { data: changed } }] }
  }
  return meta.terminating ? SETTLED : { writes: [{ verb: 'delete', collection: COLLECTION, meta }] }
}

function creation(namespace: string, data: Record<string, string>): Write {
  const name = ROOT_CA_CONFIG_MAP
  const metadata = {
    name,
    namespace,
    annotations: {
      'kubernetes.io/description':
        'The certificates by which Pods verify the API server; changes are reverted.',
    },
  }
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
  return { verb: 'create', collection: COLLECTION, namespace, name, body }
}
