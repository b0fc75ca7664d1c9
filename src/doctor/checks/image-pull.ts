import { arrayAt, type JsonObject } from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { isPresent, keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'
import { PULL_REASONS, waitingReasons } from './pods-not-ready.ts'
import { pullSecretProblem } from './pull-secrets.ts'

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
  const isSecretless = arrayAt(pod, 'spec', 'imagePullSecrets').length === 0
  const problem = pullSecretProblem(pod, evidence)
  const what = `pod/${nameOf(pod)} cannot pull an image`
  const messages = evidence.messagesAbout(pod, 'Failed').slice(0, 1)
  return [
    {
      check: imagePull.name,
      symptom: 'Image pull fails',
      object: `pod/${keyOf(pod)}`,
      affects: [],
      cause:
        problem === undefined
          ? `${what}${isSecretless ? ', and it has no imagePullSecrets' : ''}`
          : `${what}: ${problem}`,
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
