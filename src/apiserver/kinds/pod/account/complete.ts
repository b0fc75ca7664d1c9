import { arrayAt, isJsonObject, type JsonObject, valueAt } from '../../../../lib/json.ts'
import { DEFAULT_ACCOUNT, isSubdomain } from '../../../../resources/names.ts'
import { type CompletionInput, CreationRefusal } from '../../../resource/resource.ts'
import { serviceAccounts } from '../../service-account/resource.ts'
import { isMirror, mirrorFault } from './mirror.ts'
import { forbiddenSecret } from './permitted-secrets.ts'
import { withTokenVolume } from './token-volume.ts'

/**
 * A new Pod with its account: the account's name, token and pull secrets. Refused where the account is
 * missing, or does not permit a Secret that the Pod uses (plugin/pkg/admission/serviceaccount in
 * Kubernetes). Fields of wrong types are left to validation, which rejects them.
 */
export function completePod(input: CompletionInput, pod: JsonObject): JsonObject | CreationRefusal {
  const spec = pod['spec']
  if (!isJsonObject(spec)) return pod
  if (isMirror(pod)) {
    const fault = mirrorFault(spec)
    return fault === undefined ? pod : new CreationRefusal(fault)
  }
  const name = valueAt(spec, 'serviceAccountName') || DEFAULT_ACCOUNT
  if (typeof name !== 'string' || !isSubdomain(name)) return pod
  const account = input.objects.get(serviceAccounts, input.namespace, name)
  if (account === undefined) return missingAccount(input.namespace, name)
  const fault = forbiddenSecret(spec, account)
  if (fault !== undefined) return new CreationRefusal(fault)
  const named = { ...spec, serviceAccount: name, serviceAccountName: name }
  const pulling = withPullSecrets(named, account)
  const mounts = mountsToken(pulling, account)
  return { ...pod, spec: mounts ? withTokenVolume(pulling, input.random) : pulling }
}

function missingAccount(namespace: string, name: string): CreationRefusal {
  const isExpected = name === DEFAULT_ACCOUNT
  return new CreationRefusal(
    `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`,
    { resource: serviceAccounts, namespace, name, isExpected },
  )
}

/** The Pod decides, else its account; a token is mounted where neither does. */
function mountsToken(spec: JsonObject, account: JsonObject): boolean {
  const decision =
    valueAt(spec, 'automountServiceAccountToken') ??
    valueAt(account, 'automountServiceAccountToken')
  return decision !== false
}

/** A Pod that lists pull secrets gets none of its account's. */
function withPullSecrets(spec: JsonObject, account: JsonObject): JsonObject {
  const ofAccount = arrayAt(account, 'imagePullSecrets')
  const own = valueAt(spec, 'imagePullSecrets') ?? []
  const isEmpty = Array.isArray(own) && own.length === 0
  return isEmpty && ofAccount.length > 0 ? { ...spec, imagePullSecrets: ofAccount } : spec
}
