import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { isPresent, keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'
import { PULL_REASONS, waitingReasons } from './pods-not-ready.ts'

/** A Pod whose image cannot be pulled, often because of its imagePullSecrets. */
export const imagePull: Check = {
  name: 'image-pull',
  find: (evidence) =>
    evidence
      .all('pods')
      .filter(isPresent)
      .flatMap((pod) => findingOf(pod, evidence)),
}

function findingOf(pod: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
  const reason = waitingReasons(pod).find((one) => PULL_REASONS.has(one))
  if (reason === undefined) return []
  const namespace = namespaceOf(pod)
  const secrets = arrayAt(pod, 'spec', 'imagePullSecrets').map((one) => stringAt(one, 'name'))
  const missing = evidence.has('secrets')
    ? secrets.filter((name) => !evidence.exists('secrets', `${namespace}/${name}`))
    : []
  const wrongType = secrets.filter(
    (name) => !missing.includes(name) && !isPullSecret(name, namespace, evidence),
  )
  const messages = evidence.messagesAbout(pod, 'Failed').slice(0, 1)
  return [
    {
      check: imagePull.name,
      symptom: 'Image pull fails',
      object: `pod/${keyOf(pod)}`,
      affects: [],
      cause: causeOf(pod, { secrets, missing, wrongType }),
      evidence: [`a container waits: ${reason}`, ...messages],
      remedy:
        'create the Secret (type kubernetes.io/dockerconfigjson) in the namespace of the Pod, or correct the name of the image',
      commands: [
        `orchctl -n ${namespace} get secrets`,
        `orchctl -n ${namespace} describe pod ${nameOf(pod)}`,
      ],
    },
  ]
}

interface PullSecrets {
  readonly secrets: readonly string[]
  readonly missing: readonly string[]
  readonly wrongType: readonly string[]
}

function causeOf(pod: JsonObject, { secrets, missing, wrongType }: PullSecrets): string {
  const what = `pod/${nameOf(pod)} cannot pull an image`
  if (missing.length > 0)
    return `${what}: its imagePullSecrets name ${missing.join(', ')}, which is not there`
  if (wrongType.length > 0)
    return `${what}: ${wrongType.join(', ')} of its imagePullSecrets is no Secret for registries`
  return secrets.length === 0 ? `${what}, and it has no imagePullSecrets` : what
}

const PULL_TYPES = new Set(['kubernetes.io/dockerconfigjson', 'kubernetes.io/dockercfg'])

function isPullSecret(name: string, namespace: string, evidence: ClusterEvidence): boolean {
  const secret = evidence
    .all('secrets')
    .find((one) => nameOf(one) === name && namespaceOf(one) === namespace)
  return secret === undefined || PULL_TYPES.has(stringAt(secret, 'type'))
}
