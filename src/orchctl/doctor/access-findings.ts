import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { accountOf, type InspectedObject } from '../../doctor/evidence/inspected-object.ts'
import {
  type Action,
  reasonOf,
  refusedAccess,
  resourceAttributes,
  userOf,
} from '../../doctor/refused-access.ts'
import { type JsonObject, valueAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/command-module.ts'
import { usageError } from '../command/exit-code.ts'
import { resourceOf } from '../discovery/catalogue.ts'

/** Whether the account of the inspected object may do `VERB RESOURCE [NAME]`, by the API server itself. */
export async function accessFindings(
  words: readonly string[],
  inspected: InspectedObject | undefined,
  evidence: ClusterEvidence,
  context: CommandContext,
): Promise<readonly Finding[]> {
  const account = inspectedAccount(inspected, evidence)
  const action = await actionOf(words, context)
  const { api } = await context.session()
  const [namespace = ''] = account.split('/')
  const review = await api.send({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: userOf(account),
        groups: [
          'system:serviceaccounts',
          `system:serviceaccounts:${namespace}`,
          'system:authenticated',
        ],
        resourceAttributes: resourceAttributes(action),
      } satisfies JsonObject,
    },
  })
  if (valueAt(review, 'status', 'allowed') === true) return []
  return [refusedAccess(account, action, reasonOf(review), evidence)]
}

/** @throws NP_ORCHCTL_USAGE when no account or Pod is inspected */
function inspectedAccount(
  inspected: InspectedObject | undefined,
  evidence: ClusterEvidence,
): string {
  if (inspected?.kind === 'serviceaccount') return inspected.key
  const pod = inspected?.kind === 'pod' ? evidence.find('pods', inspected.key) : undefined
  if (pod !== undefined) return accountOf(pod)
  throw usageError('--can is for one account', 'write serviceaccount/NAME or pod/NAME')
}

async function actionOf(words: readonly string[], context: CommandContext): Promise<Action> {
  const [verb, what, name = '', ...more] = words
  if (verb === undefined || what === undefined || more.length > 0) {
    throw usageError('--can has a verb and a resource', 'write --can VERB RESOURCE [NAME]')
  }
  const [type = '', subresource = ''] = what.split('/')
  const { group, plural, namespaced } = await resourceOf(type, context)
  const { namespace } = await context.session()
  return {
    verb,
    group,
    resource: plural,
    subresource,
    name,
    namespace: namespaced ? namespace : '',
  }
}
