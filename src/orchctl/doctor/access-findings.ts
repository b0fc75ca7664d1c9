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
import { valueAt } from '../../lib/json.ts'
import { resourceOf } from '../discovery/catalogue.ts'
import { reviewAccess } from '../session/api.ts'
import type { CommandContext } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'

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
  const review = await reviewAccess(api, 'SubjectAccessReview', {
    user: userOf(account),
    groups: [
      'system:serviceaccounts',
      `system:serviceaccounts:${namespace}`,
      'system:authenticated',
    ],
    resourceAttributes: resourceAttributes(action),
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
