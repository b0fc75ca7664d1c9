/** What a cluster calls the objects that give accounts their identity. */

/** The account of Pods that name none; every namespace has it. */
export const DEFAULT_ACCOUNT = 'default'

/** The ConfigMap in every namespace by which Pods verify the API server. */
export const ROOT_CA_CONFIG_MAP = 'kube-root-ca.crt'

/** Secrets that hold the token of a ServiceAccount, ours first. */
export const TOKEN_SECRET_TYPES: readonly string[] = [
  'orch.io/service-account-token',
  'kubernetes.io/service-account-token',
]

/** Keys of the data of such a Secret; the ConfigMap has the certificate under the same one. */
export const TOKEN_KEY = 'token'
export const CA_KEY = 'ca.crt'
export const NAMESPACE_KEY = 'namespace'
