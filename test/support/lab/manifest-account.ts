import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import type { Api } from './api.ts'

const NAMESPACE = '/api/v1/namespaces/kube-system'
const ACCOUNTS = `${NAMESPACE}/serviceaccounts`
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const COLLECTIONS: Readonly<Record<string, string>> = {
  ServiceAccount: ACCOUNTS,
  ClusterRole: `${RBAC}/clusterroles`,
  ClusterRoleBinding: `${RBAC}/clusterrolebindings`,
}
const ALREADY_EXISTS = 409

/** A manifest with an account in kube-system and its permissions. */
export interface AccountManifest {
  readonly file: URL
  readonly account: string
}

/** Creates the objects of the manifest that do not exist; resolves to a new token of the account. */
export async function tokenOfManifest(
  api: Api,
  { file, account }: AccountManifest,
): Promise<string> {
  await create(api, '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'kube-system' },
  })
  for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
    const object = document.toJS() as { readonly kind: string }
    const collection = COLLECTIONS[object.kind]
    if (collection === undefined) throw new Error(`${file.pathname}: no path for ${object.kind}`)
    await create(api, collection, object)
  }
  const answer = await create(api, `${ACCOUNTS}/${account}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { audiences: [] },
  })
  return (JSON.parse(answer) as { readonly status: { readonly token: string } }).status.token
}

/** Resolves to the body of the answer. */
async function create(api: Api, path: string, object: object): Promise<string> {
  const { status, body } = await api.request('POST', path, object)
  if (status >= 300 && status !== ALREADY_EXISTS) throw new Error(`POST ${path}: ${status} ${body}`)
  return body
}
